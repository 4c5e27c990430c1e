// program: a process, waited for.
#include "support/program.hpp"

namespace outboxd::test {

program_result run_program(const process_options& options, std::chrono::milliseconds patience) {
  process child{options};
  const auto status = child.wait(patience);
  return {status, child.all_lines(patience)};
}

}  // namespace outboxd::test
