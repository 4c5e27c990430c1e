// outbox_checks: the outbox itself: its version, whether it matches the schema that `migrate` creates, and
// the user's rights.
#include <fmt/format.h>

#include <algorithm>

#include "app/check/checks.hpp"
#include "app/schema/differences.hpp"
#include "relay/database_session.hpp"
#include "store/relay_statements.hpp"
#include "store/rights.hpp"

namespace outboxd::app::check {
namespace {

constexpr std::string_view row_security = "ROW SECURITY";

// A right that the user lacks, see sql/state/lacks.sql.
struct missing_right {
  std::string_view kind, name, privilege;
};

// The functions that a relay calls, and those that its views call.
std::string names_of_statements(const context& of) {
  std::string out = "pg_lock_status pg_stat_get_activity pg_terminate_backend";
  for (const auto& one :
       store::relay_statements(of.database().schema, payload_type::jsonb, of.database().after_publish))
    out += " " + one.sql;
  return out;
}

// The rights that the user lacks, and the statements that grant them, filtered by `matters`.
template <class Predicate>
finding check_rights(context& of, std::string sound, Predicate matters) {
  constexpr int most_names = 3;
  const auto lacks = of.ask(store::lacks_query(of.database().schema, of.known.role, names_of_statements(of)));
  if (!lacks) return not_checked(lacks.error().message);
  std::string words;
  std::string remedies;
  int count = 0;
  bool hurts = false;
  for (int row = 0; row < lacks->size(); ++row) {
    const missing_right one{lacks->at(row, store::lack::kind), lacks->at(row, store::lack::name),
                            lacks->at(row, store::lack::privilege)};
    if (!matters(one)) continue;
    hurts = hurts || std::ranges::find(store::dispensable, one.name) == store::dispensable.end();
    if (++count <= most_names)
      words += fmt::format("{}{}", count == 1 ? "" : ", ", lacks->at(row, store::lack::words));
    remedies += fmt::format("{}{}", count == 1 ? "" : " ", lacks->at(row, store::lack::remedy));
  }
  if (count == 0) return ok(std::move(sound));
  return (hurts ? failure : warning)(std::move(words), std::move(remedies));
}

// The reason why the user cannot access the outbox at all, or else the reason why a query failed.
finding check_access(context& of, const error& why) {
  auto found = check_rights(of, "", [](const missing_right& one) {
    return one.kind == "ROLE" || one.kind == "SCHEMA" || one.name == "migration";
  });
  return found.how == verdict::failure ? found : not_checked(why.message);
}

}  // namespace

// An unreadable migration table means that the outbox exists and privileges are missing.
finding check_schema(context& of) {
  const auto& schema = of.database().schema;
  const auto there =
      of.ask(fmt::format("SELECT to_regclass(format('%I.event', {0})) IS NOT NULL"
                         " AND to_regclass(format('%I.migration', {0})) IS NOT NULL",
                         schema.literal()));
  if (!there) return check_access(of, there.error());
  if (there->at(0, 0) == "f")
    return failure(
        fmt::format("there is no outbox in schema {} of database {}", schema.name(), of.known.database),
        "outboxd migrate  # or name its schema in outbox.schema");
  const auto version =
      of.ask(fmt::format("SELECT max(m.version) FROM {}.migration AS m", schema.identifier()));
  of.known.has_outbox = !version;
  if (!version) return check_access(of, version.error());
  const auto number = static_cast<int>(version->number_at(0, 0));
  if (const auto known = relay::check_version(schema, number); !known)
    return failure(known.error().message, number < store::schema_version
                                              ? "outboxd migrate"
                                              : "install the outboxd that migrated it, or a newer one");
  of.known.has_outbox = true;
  if (number > store::schema_version)
    return warning(
        fmt::format("schema {} has version {}, and this outboxd was built for {}; it works with both",
                    schema.name(), number, store::schema_version),
        "install the outboxd that migrated it");
  return ok(fmt::format("schema {} has version {}", schema.name(), number));
}

finding check_state(context& of) {
  const asking ask = [&](const std::string& sql) { return of.ask(sql); };
  const auto& schema = of.database().schema;
  const auto shape = shape_of(ask, schema);
  if (!shape) return not_checked(shape.error().message);
  of.known.shape = *shape;
  const auto found = find_all_differences(ask, schema, *shape);
  if (!found) return not_checked(found.error().message);
  if (found->empty()) return ok("objects, rights, rows and sequence are as migrate makes them");
  std::string words;
  for (const auto& one : *found) words += fmt::format("{}{}", words.empty() ? "" : "; ", one.what);
  const bool hurts = std::ranges::any_of(*found, &difference::hurts);
  const bool stays = std::ranges::any_of(*found, [](const auto& one) { return one.remedy.empty(); });
  return (hurts ? failure : warning)(
      words, stays ? "outboxd migrate  # repairs all but what it then names" : "outboxd migrate");
}

// Some rights are needed only if retention deletes rows.
finding check_privileges(context& of) {
  const auto deletes = relay::retention_of(of.configured().relay);
  const bool keeps = of.database().after_publish == store::after_publish::keep && !deletes.published;
  const auto sound = fmt::format("user {} has all rights that a relay needs", of.known.user);
  return check_rights(of, sound, [&](const missing_right& one) {
    return one.kind != row_security && !(keeps && one.name == "event" && one.privilege == "DELETE") &&
           !(!deletes.processed && one.name == "forget_processed");
  });
}

finding check_row_security(context& of) {
  return check_rights(of, "hides nothing from this user",
                      [](const missing_right& one) { return one.kind == row_security; });
}

}  // namespace outboxd::app::check
