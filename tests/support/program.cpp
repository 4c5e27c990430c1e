// program: a process, waited for.
#include "support/program.hpp"

namespace outboxd::test {

program_result run_program(const process_options& options, std::chrono::milliseconds time_limit) {
  process child{options};
  const auto status = child.wait(time_limit);
  return {status, child.all_lines(time_limit)};
}

}  // namespace outboxd::test
