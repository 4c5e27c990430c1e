// configuration_checks: where the settings come from, and what is unwise about them. What is wrong has ended
// the command before.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/check/checks.hpp"

namespace outboxd::app::check {

findings check_configuration(const settings& from) {
  findings out;
  out.push_back(named("configuration",
                      ok(from.sources.empty() ? "nothing is set; defaults and PG* variables"
                                              : fmt::format("from {}", fmt::join(from.sources, ", ")))));
  // "what is unwise; what to do"
  for (const std::string& one : from.warnings) {
    const auto end = one.rfind("; ");
    out.push_back(named("configuration",
                        warning(one.substr(0, end), end == std::string::npos ? "" : one.substr(end + 2))));
  }
  return out;
}

}  // namespace outboxd::app::check
