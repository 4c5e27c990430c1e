// main: the program's entry point.
#include <cstdio>
#include <exception>

#include "app/command/outcome.hpp"
#include "app/command_line.hpp"
#include "app/daemon/core_dumps.hpp"
#include "console/console_command.hpp"

int main(int argc, char** argv) {
  try {
    outboxd::app::forbid_core_dumps();
    const int status = outboxd::app::run_command_line(argc, argv, outboxd::console::add_console_command);
    // If standard output cannot be written, for example to a full disk, the command must fail.
    if (std::fflush(stdout) == 0) return status;
    outboxd::app::say_error("the output could not be written");
    return outboxd::app::exit_failure;
  } catch (const std::exception& unexpected) {
    outboxd::app::say_error(unexpected.what());
    return outboxd::app::exit_failure;
  }
}
