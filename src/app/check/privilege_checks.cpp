// privilege_checks: what the user lacks, and what gives it: see sql/state/lacks.sql.
#include <fmt/format.h>

#include <algorithm>

#include "app/check/checks.hpp"
#include "store/relay_statements.hpp"
#include "store/rights.hpp"

namespace outboxd::app::check {
namespace {

constexpr std::string_view row_security = "ROW SECURITY";

// What a relay runs, and what the views in it call.
std::string names_of_statements(const context& of) {
  std::string out = "pg_lock_status pg_stat_get_activity pg_terminate_backend";
  for (const auto& one :
       store::relay_statements(of.database().schema, payload_type::jsonb, of.database().after_publish))
    out += " " + one.sql;
  return out;
}

result<pg::rows> all_lacks(context& of) {
  return of.ask(store::lacks_query(of.database().schema, of.known.role, names_of_statements(of)));
}

// Only where something is ever deleted.
bool is_for_retention(const context& of, const pg::rows& lacks, int row) {
  const auto deletes = relay::retention_of(of.configured().relay);
  const bool keeps = of.database().after_publish == store::after_publish::keep && !deletes.published;
  const auto name = lacks.at(row, store::lack::name);
  return (keeps && name == "event" && lacks.at(row, store::lack::privilege) == "DELETE") ||
         (!deletes.processed && name == "forget_processed");
}

bool goes_without(const pg::rows& lacks, int row) {
  return std::ranges::find(store::dispensable, lacks.at(row, store::lack::name)) != store::dispensable.end();
}

struct summary {
  int count = 0;
  std::string words, remedies;
  void add(const pg::rows& lacks, int row) {
    constexpr int most = 3;
    if (++count <= most)
      words += fmt::format("{}{}", words.empty() ? "" : ", ", lacks.at(row, store::lack::words));
    remedies += fmt::format("{}{}", remedies.empty() ? "" : " ", lacks.at(row, store::lack::remedy));
  }
};

}  // namespace

finding check_privileges(context& of) {
  const auto lacks = all_lacks(of);
  if (!lacks) return not_checked(lacks.error().message);
  summary all;
  bool hurts = false;
  for (int row = 0; row < lacks->size(); ++row) {
    if (lacks->at(row, store::lack::kind) == row_security || is_for_retention(of, *lacks, row)) continue;
    hurts = hurts || !goes_without(*lacks, row);
    all.add(*lacks, row);
  }
  if (all.count == 0) return ok(fmt::format("user {} has all rights that a relay needs", of.known.user));
  return hurts ? failure(all.words, all.remedies) : warning(all.words, all.remedies);
}

finding check_row_security(context& of) {
  const auto lacks = all_lacks(of);
  if (!lacks) return not_checked(lacks.error().message);
  summary all;
  for (int row = 0; row < lacks->size(); ++row)
    if (lacks->at(row, store::lack::kind) == row_security) all.add(*lacks, row);
  if (all.count == 0) return ok("hides nothing from this user");
  return failure(all.words, all.remedies);
}

std::optional<finding> check_access(context& of) {
  const auto lacks = all_lacks(of);
  if (!lacks) return std::nullopt;
  summary all;
  for (int row = 0; row < lacks->size(); ++row)
    if (const auto kind = lacks->at(row, store::lack::kind);
        kind == "ROLE" || kind == "SCHEMA" || lacks->at(row, store::lack::name) == "migration")
      all.add(*lacks, row);
  if (all.count == 0) return std::nullopt;
  return failure(all.words, all.remedies);
}

}  // namespace outboxd::app::check
