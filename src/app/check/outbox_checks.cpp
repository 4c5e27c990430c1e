// outbox_checks: the outbox itself: its version, and whether anybody has changed what migrate made.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cstdlib>

#include "app/check/checks.hpp"
#include "app/schema/migrations.hpp"
#include "relay/database_session.hpp"

namespace outboxd::app::check {
namespace {

// Of the script that makes the outbox, the one statement that begins so, on one line.
std::string statement_of(const pg::schema_name& schema, const std::string& beginning) {
  const auto script = whole_script(schema, {});
  const auto at = script.find("\n" + beginning);
  if (at == std::string::npos) return "outboxd migrate --print";
  std::string out;
  for (const char c : script.substr(at + 1, script.find(";\n", at) - at)) {
    const bool blank = c == '\n' || c == ' ';
    if (!blank || out.empty() || out.back() != ' ') out += blank ? ' ' : c;
  }
  return out;
}

// And where each fires.
constexpr std::array triggers{std::pair{"event_take_over", "REPLICA"},
                              std::pair{"event_keep_place", "ALWAYS"},
                              std::pair{"event_agree_on_status", "ALWAYS"}};
constexpr std::array indexes{"event_pkey", "event_order", "event_tx",     "event_due",
                             "event_held", "event_dead",  "event_refused"};

std::string_view words_of(char enabled) {
  switch (enabled) {
    case 'A':
      return "in all sessions";
    case 'R':
      return "only in logical replication and with session_replication_role = replica";
    default:
      return "only in ordinary sessions";
  }
}

}  // namespace

// A migration table that may not be read is a matter of privileges, and there is an outbox.
finding check_schema(context& of) {
  const auto& schema = of.database().schema;
  const auto there =
      of.ask(fmt::format("SELECT to_regclass(format('%I.event', {0})) IS NOT NULL,"
                         " to_regclass(format('%I.migration', {0})) IS NOT NULL",
                         of.schema_literal()));
  if (!there) return check_access(of).value_or(not_checked(there.error().message));
  if (there->at(0, 0) == "f" || there->at(0, 1) == "f")
    return failure(
        fmt::format("there is no outbox in schema {} of database {}", schema.name(), of.known.database),
        "outboxd migrate  # or name its schema in outbox.schema");
  const auto version = of.ask(fmt::format("SELECT max(m.version) FROM {}.migration AS m", of.schema()));
  if (!version) {
    of.known.has_outbox = true;
    return check_access(of).value_or(not_checked(version.error().message));
  }
  const auto number = std::atoi(std::string(version->at(0, 0)).c_str());
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

// A trigger of its own name that does something else is not found out.
finding check_triggers(context& of) {
  const auto found =
      of.ask(fmt::format("SELECT t.tgname, t.tgenabled FROM pg_trigger AS t"
                         " WHERE t.tgrelid = format('%I.event', {})::regclass AND NOT t.tgisinternal",
                         of.schema_literal()));
  if (!found) return not_checked(found.error().message);
  for (const auto& [name, fires] : triggers) {
    const auto enable = fmt::format("ALTER TABLE {}.event ENABLE {} TRIGGER {};", of.schema(), fires, name);
    std::string enabled;
    for (int i = 0; i < found->size(); ++i)
      if (found->at(i, 0) == name) enabled = found->at(i, 1);
    if (enabled.empty())
      return failure(
          fmt::format("the trigger {} of {}.event is gone", name, of.schema()),
          fmt::format("{} {}", statement_of(of.database().schema, fmt::format("CREATE TRIGGER {}", name)),
                      enable));
    if (enabled == "D")
      return failure(fmt::format("the trigger {} of {}.event is disabled", name, of.schema()), enable);
    if (enabled.front() != *fires)
      return warning(
          fmt::format("the trigger {} of {}.event fires {}", name, of.schema(), words_of(enabled.front())),
          enable);
  }
  return ok("all exist, and fire where they should");
}

finding check_rules(context& of) {
  const auto found =
      of.ask(fmt::format("SELECT min(quote_ident(r.rulename)) FROM pg_rewrite AS r"
                         " WHERE r.ev_class = format('%I.event', {})::regclass AND r.ev_type IN ('2', '4') "
                         "AND r.ev_enabled <> 'D'",
                         of.schema_literal()));
  if (!found) return not_checked(found.error().message);
  if (found->is_null(0, 0)) return ok("none that changes what a relay writes");
  return failure(fmt::format("the rule {} of {}.event replaces an UPDATE or DELETE, so that the relay cannot "
                             "mark events as published or delete them",
                             found->at(0, 0), of.schema()),
                 fmt::format("DROP RULE {} ON {}.event;", found->at(0, 0), of.schema()));
}

finding check_indexes(context& of) {
  const auto found = of.ask(fmt::format(
      "SELECT c.relname, i.indisvalid FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid"
      " WHERE i.indrelid = format('%I.event', {0})::regclass"
      // Each partition has ids of its own.
      " UNION ALL SELECT 'event_pkey', bool_and(EXISTS (SELECT FROM pg_index AS k WHERE k.indrelid = "
      "p.inhrelid"
      " AND k.indisprimary AND k.indisvalid)) FROM pg_inherits AS p"
      " WHERE p.inhparent = format('%I.event', {0})::regclass HAVING count(*) > 0",
      of.schema_literal()));
  if (!found) return not_checked(found.error().message);
  for (const std::string name : indexes) {
    std::string valid;
    for (int i = 0; i < found->size(); ++i)
      if (found->at(i, 0) == name) valid = found->at(i, 1);
    if (valid == "t") continue;
    if (valid == "f")
      return warning(fmt::format("the index {} is not valid, and nothing uses it", name),
                     fmt::format("REINDEX INDEX CONCURRENTLY {}.{};", of.schema(), name));
    const auto make =
        name == "event_pkey"
            ? fmt::format("ALTER TABLE {}.event ADD CONSTRAINT event_pkey PRIMARY KEY (id);", of.schema())
            : statement_of(of.database().schema, "CREATE INDEX " + name);
    return failure(
        fmt::format("the index {} of {}.event is gone; {}", name, of.schema(),
                    name == "event_refused" ? "any row may be inserted" : "the relay needs it to read"),
        make);
  }
  return ok("all exist and are valid");
}

finding check_sequence(context& of) {
  const auto found = of.ask(
      fmt::format("SELECT s.seqrelid::regclass, s.seqcache, s.seqincrement FROM pg_sequence AS s"
                  " WHERE s.seqrelid = pg_get_serial_sequence(format('%I.event', {}), 'seq')::regclass",
                  of.schema_literal()));
  if (!found) return not_checked(found.error().message);
  if (found->size() == 0)
    return failure(
        fmt::format("{}.event.seq has no sequence", of.schema()),
        fmt::format("ALTER TABLE {}.event ALTER seq ADD GENERATED BY DEFAULT AS IDENTITY;", of.schema()));
  const auto name = found->at(0, 0);
  if (std::atoll(std::string(found->at(0, 2)).c_str()) < 1)
    return failure(fmt::format("{} counts down: events would go out in the wrong order", name),
                   fmt::format("ALTER SEQUENCE {} INCREMENT BY 1;", name));
  if (found->at(0, 1) != "1")
    return warning(fmt::format("{} is cached ({}): consecutive transactions that write the same aggregate "
                               "may get numbers in the wrong order, and events are published in that order",
                               name, found->at(0, 1)),
                   fmt::format("ALTER SEQUENCE {} CACHE 1;", name));
  return ok("counts up, uncached");
}

finding check_autovacuum(context& of) {
  const auto found = of.ask(fmt::format(
      "SELECT current_setting('autovacuum'), current_setting('track_counts'), (SELECT min(format('%I.%I', "
      "{0}, c.relname))"
      " FROM pg_class AS c CROSS JOIN pg_options_to_table(c.reloptions) AS o"
      " WHERE (c.oid = format('%I.event', {0})::regclass OR c.oid IN (SELECT i.inhrelid FROM pg_inherits AS i"
      " WHERE i.inhparent = format('%I.event', {0})::regclass)) AND o.option_name = 'autovacuum_enabled'"
      " AND NOT o.option_value::boolean)",
      of.schema_literal()));
  if (!found) return not_checked(found.error().message);
  if (!found->is_null(0, 2))
    return warning(fmt::format("autovacuum is switched off for {}, which keeps growing", found->at(0, 2)),
                   fmt::format("ALTER TABLE {} RESET (autovacuum_enabled);", found->at(0, 2)));
  for (const auto& [column, name] : {std::pair{0, "autovacuum"}, std::pair{1, "track_counts"}})
    if (found->at(0, column) == "off")
      return warning(fmt::format("{} is off: no table of this server is vacuumed automatically", name),
                     fmt::format("ALTER SYSTEM SET {} = on; SELECT pg_reload_conf();", name));
  return ok("on");
}

}  // namespace outboxd::app::check
