// outcome: how a command ends: its exit status and its error message.
#pragma once

#include <string>
#include <string_view>

#include "core/error.hpp"

namespace outboxd::app {

inline constexpr int exit_success = 0;
inline constexpr int exit_failure = 1;  // at run time
inline constexpr int exit_usage = 2;    // the command line or the configuration

// Why a command ends early, and its exit status.
struct command_failure {
  int status;
  std::string message;
  bool of_a_row = false;  // PostgreSQL cannot read a row, or not convert it to UTF-8: fewer columns may work
  bool lost = false;      // the connection was lost: the statement may or may not have been executed
};
template <class T>
using outcome = tl::expected<T, command_failure>;

tl::unexpected<command_failure> usage_failure(std::string message);
tl::unexpected<command_failure> run_failure(std::string message);

// One line on standard error; refuse returns exit_usage.
void say_error(std::string_view message);
int refuse(std::string_view message);

// Returns the exit status; prints the reason of a failure.
int report(const outcome<int>& how);

}  // namespace outboxd::app
