// check: the doctor. Looks at everything that a relay needs, changes nothing, and says what to do.
#include <fmt/format.h>

#include <iterator>

#include "app/check/checks.hpp"
#include "app/check/report.hpp"
#include "app/commands.hpp"

namespace outboxd::app {

int check_command(const settings& from, const check_options& options) {
  check::findings all;
  const auto take = [&](check::findings more) {
    if (!options.json) fmt::print("{}", check::as_text(more));
    std::fflush(stdout);  // the next ones may take a while
    std::move(more.begin(), more.end(), std::back_inserter(all));
  };
  take(check::check_configuration(from));
  check::patient database(from);
  take(check::check_database(database));
  take(check::check_broker(from));
  if (options.json) fmt::print("{}", check::as_json(all));
  return check::any_failed(all) ? exit_failure : exit_success;
}

}  // namespace outboxd::app
