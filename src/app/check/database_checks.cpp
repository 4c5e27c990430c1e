// database_checks: the checks of PostgreSQL in their order, and which of them can be made at all.
#include <fmt/format.h>

#include <array>

#include "app/check/checks.hpp"

namespace outboxd::app::check {
namespace {

// What has to be known to be well before.
enum class needs { login, outbox };

struct check {
  const char* name;
  needs first;
  finding (*look)(patient& of);
};

constexpr std::array in_order{
    check{"database.version", needs::login, check_version},
    check{"database.tls", needs::login, check_tls},
    check{"database.writable", needs::login, check_writable},
    check{"database.pooler", needs::login, check_pooler},
    check{"database.schema", needs::login, check_schema},
    check{"database.state", needs::outbox, check_state},
    check{"database.privileges", needs::outbox, check_privileges},
    check{"database.row_security", needs::outbox, check_row_security},
    check{"database.triggers", needs::outbox, check_triggers},
    check{"database.rules", needs::outbox, check_rules},
    check{"database.indexes", needs::outbox, check_indexes},
    check{"database.references", needs::outbox, check_references},
    check{"database.user_triggers", needs::outbox, check_user_triggers},
    check{"database.user_indexes", needs::outbox, check_user_indexes},
    check{"database.sequence", needs::outbox, check_sequence},
    check{"database.autovacuum", needs::outbox, check_autovacuum},
    check{"database.partitions", needs::outbox, check_partitions},
    check{"database.session", needs::outbox, check_relay_session},
    check{"database.settings", needs::login, check_settings},
    check{"database.notification", needs::login, check_notification},
    check{"database.clock", needs::login, check_clock},
    check{"database.connections", needs::login, check_connections},
    check{"database.locks", needs::outbox, check_locks},
    check{"database.snapshots", needs::login, check_snapshots},
};

}  // namespace

findings check_database(patient& of) {
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
      out.push_back(named(one.name, not_checked("there is no outbox that this outboxd knows")));
    else
      out.push_back(named(one.name, one.look(of)));
    of.known.failed = of.known.failed || out.back().how == verdict::failure;
  }
  return out;
}

}  // namespace outboxd::app::check
