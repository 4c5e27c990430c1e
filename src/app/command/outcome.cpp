#include "app/command/outcome.hpp"

#include <fmt/format.h>

#include <utility>

namespace outboxd::app {

tl::unexpected<command_failure> usage_failure(std::string message) {
  return tl::make_unexpected(command_failure{exit_usage, std::move(message)});
}

tl::unexpected<command_failure> run_failure(std::string message) {
  return tl::make_unexpected(command_failure{exit_failure, std::move(message)});
}

void say_error(std::string_view message) {
  fmt::print(stderr, "outboxd: {}\n", message);
}

int refuse(std::string_view message) {
  say_error(message);
  return exit_usage;
}

int report(const outcome<int>& how) {
  if (how) return *how;
  say_error(how.error().message);
  return how.error().status;
}

}  // namespace outboxd::app
