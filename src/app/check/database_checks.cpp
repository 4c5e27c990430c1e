// database_checks: the checks of PostgreSQL in their order, and which of them can be made at all.
#include <fmt/format.h>

#include <array>

#include "app/check/checks.hpp"
#include "pg/lock_wait.hpp"

namespace outboxd::app::check {
namespace {

// What has to be known to be well before.
enum class needs { login, outbox };

// What is said of the session that looks, such as its rights, is so of a relay's login alone.
enum class looks { as_a_relay, as_anybody };

struct check {
  const char* name;
  needs first;
  finding (*look)(context& of);
  looks who = looks::as_a_relay;
};

constexpr std::array in_order{
    check{"database.version", needs::login, check_version, looks::as_anybody},
    check{"database.tls", needs::login, check_tls},
    check{"database.writable", needs::login, check_writable},
    check{"database.pooler", needs::login, check_pooler},
    check{"database.schema", needs::login, check_schema, looks::as_anybody},
    check{"database.state", needs::outbox, check_state, looks::as_anybody},
    check{"database.privileges", needs::outbox, check_privileges},
    check{"database.row_security", needs::outbox, check_row_security, looks::as_anybody},
    check{"database.triggers", needs::outbox, check_triggers, looks::as_anybody},
    check{"database.rules", needs::outbox, check_rules, looks::as_anybody},
    check{"database.indexes", needs::outbox, check_indexes, looks::as_anybody},
    check{"database.references", needs::outbox, check_references, looks::as_anybody},
    check{"database.user_triggers", needs::outbox, check_user_triggers, looks::as_anybody},
    check{"database.user_indexes", needs::outbox, check_user_indexes, looks::as_anybody},
    check{"database.sequence", needs::outbox, check_sequence, looks::as_anybody},
    check{"database.autovacuum", needs::outbox, check_autovacuum, looks::as_anybody},
    check{"database.partitions", needs::outbox, check_partitions, looks::as_anybody},
    check{"database.commits", needs::outbox, check_commits, looks::as_anybody},
    check{"database.session", needs::outbox, check_relay_session},
    check{"database.settings", needs::login, check_settings},
    check{"database.notification", needs::login, check_notification},
    check{"database.clock", needs::login, check_clock},
    check{"database.connections", needs::login, check_connections},
    check{"database.locks", needs::outbox, check_locks},
    check{"database.snapshots", needs::login, check_snapshots},
};

}  // namespace

findings check_database(context& of) {
  findings out;
  const auto opened = of.open();
  if (opened)
    out.push_back(named("database.login", ok(fmt::format("as {} to database {} at {}", of.known.user,
                                                         of.known.database, of.raw().server()))));
  else
    out.push_back(named("database.login", refused_login(of, opened.error())));
  for (const check& one : in_order) {
    if (!opened)
      out.push_back(named(one.name, not_checked("no login to PostgreSQL")));
    else if (one.first == needs::outbox && !of.known.has_outbox)
      out.push_back(named(one.name, not_checked("there is no outbox that this outboxd supports")));
    else
      out.push_back(named(one.name, one.look(of)));
    of.known.failed = of.known.failed || out.back().how == verdict::failure;
  }
  return out;
}

tl::expected<findings, error> check_table(context& of, std::chrono::seconds longest) {
  of.known.role = store::operator_role;
  if (auto opened = of.open(); !opened) return tl::make_unexpected(opened.error());
  if (auto set = of.ask(fmt::format("SELECT set_config('statement_timeout', '{}s', false),"
                                    " set_config('lock_timeout', '{}', false)",
                                    longest.count(), pg::longest_lock_wait.count()));
      !set)
    return tl::make_unexpected(set.error());
  of.known.user = "a relay";
  findings out;
  for (const check& one : in_order) {
    if (one.who == looks::as_a_relay) continue;
    if (one.first == needs::outbox && !of.known.has_outbox) continue;
    auto found = named(one.name, one.look(of));
    if (found.how == verdict::warning || found.how == verdict::failure) out.push_back(std::move(found));
  }
  return out;
}

}  // namespace outboxd::app::check
