#include "app/operate/status_statements.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "store/relay_statements.hpp"

namespace outboxd::app {

std::string status_statement(std::string_view name, const pg::schema_name& schema,
                             std::chrono::milliseconds clock_tolerance) {
  const auto all = status_texts();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const status_text& one) { return one.name == name; });
  if (found == all.end()) return {};
  const std::array<std::pair<std::string_view, std::string>, 5> placeholders{{
      {"@schema_text@", schema.literal()},
      {"@schema@", schema.identifier()},
      {"@hash@", std::string(store::aggregate_hash)},
      {"@is_scheduled@", store::is_scheduled(clock_tolerance)},
      {"@lock_class@", std::to_string(store::lock_class(schema))},
  }};
  std::string out;
  std::string_view rest = found->sql;
  while (!rest.empty()) {
    const auto at = std::min(rest.find('@'), rest.size());
    out += rest.substr(0, at);
    rest.remove_prefix(at);
    const auto known = std::find_if(placeholders.begin(), placeholders.end(),
                                    [&](const auto& one) { return rest.starts_with(one.first); });
    if (known != placeholders.end()) {
      out += known->second;
      rest.remove_prefix(known->first.size());
    } else if (!rest.empty()) {
      out.push_back('@');
      rest.remove_prefix(1);
    }
  }
  return out;
}

}  // namespace outboxd::app
