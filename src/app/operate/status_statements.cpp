#include "app/operate/status_statements.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "store/relay_statements.hpp"
#include "store/rights.hpp"

namespace outboxd::app {
namespace {

std::string filled(std::string_view rest, const auto& placeholders) {
  std::string out;
  while (!rest.empty()) {
    const auto at = std::min(rest.find('@'), rest.size());
    out += rest.substr(0, at);
    rest.remove_prefix(at);
    const auto known =
        std::ranges::find_if(placeholders, [&](const auto& one) { return rest.starts_with(one.first); });
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

}  // namespace

std::string status_statement(std::string_view name, const pg::schema_name& schema,
                             std::chrono::milliseconds clock_tolerance) {
  const auto all = status_texts();
  const auto found = std::ranges::find(all, name, &status_text::name);
  if (found == all.end()) return {};
  const std::array<std::pair<std::string_view, std::string_view>, 2> parts{
      {{"@lock_holders@", store::relay_text("lock_holders")},
       {"@row_holders@", store::state_text("row_holders")}}};
  auto placeholders = store::lock_placeholders(schema);
  placeholders.insert(placeholders.end(), {
                                              {"@schema_text@", schema.literal()},
                                              {"@schema@", schema.identifier()},
                                              {"@hash@", std::string(store::aggregate_hash)},
                                              {"@is_scheduled@", store::is_scheduled(clock_tolerance)},
                                          });
  return filled(filled(found->sql, parts), placeholders);
}

}  // namespace outboxd::app
