// state_checks: whether the outbox is what `migrate` makes, which mends it.
#include <fmt/format.h>

#include <algorithm>

#include "app/check/checks.hpp"
#include "app/schema/differences.hpp"

namespace outboxd::app::check {

finding check_state(context& of) {
  const asking ask = [&](const std::string& sql) { return of.ask(sql); };
  const auto& schema = of.database().schema;
  const auto shape = shape_of(ask, schema);
  if (!shape) return not_checked(shape.error().message);
  const auto found = find_all_differences(ask, schema, *shape);
  if (!found) return not_checked(found.error().message);
  if (found->empty()) return ok("objects, rights, rows and sequence are as migrate makes them");
  std::string words;
  for (const auto& one : *found) words += fmt::format("{}{}", words.empty() ? "" : "; ", one.what);
  const bool hurts =
      std::any_of(found->begin(), found->end(), [](const difference& one) { return one.hurts; });
  const bool stays =
      std::any_of(found->begin(), found->end(), [](const difference& one) { return one.remedy.empty(); });
  const std::string remedy =
      stays ? "outboxd migrate  # repairs all but what it then names" : "outboxd migrate";
  return hurts ? failure(words, remedy) : warning(words, remedy);
}

}  // namespace outboxd::app::check
