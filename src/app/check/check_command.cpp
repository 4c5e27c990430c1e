// check: examines everything that a relay needs, changes nothing, and reports faults with remedies.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iterator>
#include <memory>

#include "app/check/check_command.hpp"
#include "app/check/checks.hpp"
#include "app/check/report.hpp"
#include "app/command/outcome.hpp"

namespace outboxd::app {
namespace {

// Reports where the settings come from, and warns about risky ones. Invalid settings have already ended the
// command.
check::findings check_configuration(const settings& from) {
  const auto about = [](check::finding one) { return check::named("configuration", std::move(one)); };
  check::findings out{
      about(check::ok(from.sources.empty() ? "nothing is set; defaults and PG* variables"
                                           : fmt::format("from {}", fmt::join(from.sources, ", "))))};
  // "the risk; the remedy"
  for (const std::string& one : from.warnings) {
    const auto end = one.rfind("; ");
    out.push_back(
        about(check::warning(one.substr(0, end), end == std::string::npos ? "" : one.substr(end + 2))));
  }
  return out;
}

int check_command(const settings& from, bool as_json) {
  check::findings all;
  const auto take = [&](check::findings more) {
    if (!as_json) fmt::print("{}", check::as_text(more));
    std::fflush(stdout);  // the following checks may take a while
    std::move(more.begin(), more.end(), std::back_inserter(all));
  };
  take(check_configuration(from));
  check::context database(from);
  take(check::check_database(database));
  take(check::check_broker(from));
  if (as_json) fmt::print("{}", check::as_json(all));
  return check::any_failed(all) ? exit_failure : exit_success;
}

}  // namespace

void add_check_command(CLI::App& app, command_set& to) {
  CLI::App* const check = app.add_subcommand(
      "check", "check everything that a relay needs, and say what is wrong and how to repair it");
  const auto as_json = std::make_shared<bool>(false);
  check->add_flag("--json", *as_json, "print JSON");
  to.push_back(
      {check, purpose::relay, [as_json](const settings& from) { return check_command(from, *as_json); }});
}

}  // namespace outboxd::app
