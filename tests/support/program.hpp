// program: runs a program to its end.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <string_view>
#include <vector>

#include "support/deadline.hpp"
#include "support/process.hpp"

namespace outboxd::test {

struct program_result {
  exit_status status;
  std::vector<std::string> lines;  // of both outputs

  bool exited(int code) const { return status.code == code; }
  std::string text() const { return fmt::format("{}", fmt::join(lines, "\n")); }
  bool says(std::string_view words) const { return text().find(words) != std::string::npos; }
};

/// Throws deadline_passed when it does not end.
program_result run_program(const process_options& options, std::chrono::milliseconds time_limit = patience);

}  // namespace outboxd::test
