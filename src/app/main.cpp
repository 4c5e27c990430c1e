// main: the daemon's entry point.
#include <exception>

#include "app/command_line.hpp"
#include "app/commands.hpp"

int main(int argc, char** argv) {
  try {
    return outboxd::app::run_command_line(argc, argv);
  } catch (const std::exception& unexpected) {
    outboxd::app::say_error(unexpected.what());
    return outboxd::app::exit_failure;
  }
}
