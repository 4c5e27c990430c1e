// database_checks: the checks of PostgreSQL in order, with their prerequisites.
#include <fmt/format.h>

#include <array>
#include <variant>

#include "app/check/checks.hpp"
#include "pg/lock_wait.hpp"

namespace outboxd::app::check {
namespace {

// The checks that must have passed before.
enum class needs { login, outbox };

// Findings about the checking session, such as its rights, are valid only for the relay's login.
enum class looks { as_a_relay, as_anybody };

// A function, or the message if the statement of the same name in sql/check finds no fault.
using look = std::variant<finding (*)(context&), const char*>;

struct check {
  const char* name;
  needs first;
  looks who;
  look how;

  std::string statement() const { return std::string(name).substr(std::string_view("database.").size()); }
};

constexpr std::array in_order{
    check{"database.version", needs::login, looks::as_anybody, ""},
    check{"database.tls", needs::login, looks::as_a_relay, check_tls},
    check{"database.writable", needs::login, looks::as_a_relay, "a primary that takes writes"},
    check{"database.pooler", needs::login, looks::as_a_relay, check_pooler},
    check{"database.schema", needs::login, looks::as_anybody, check_schema},
    check{"database.state", needs::outbox, looks::as_anybody, check_state},
    check{"database.privileges", needs::outbox, looks::as_a_relay, check_privileges},
    check{"database.row_security", needs::outbox, looks::as_anybody, check_row_security},
    check{"database.triggers", needs::outbox, looks::as_anybody, "all exist, and fire where they should"},
    check{"database.rules", needs::outbox, looks::as_anybody, "none that changes what a relay writes"},
    check{"database.indexes", needs::outbox, looks::as_anybody, "all exist and are valid"},
    check{"database.references", needs::outbox, looks::as_anybody, "no foreign key refers to events"},
    check{"database.user_triggers", needs::outbox, looks::as_anybody,
          "none that fires when an event is marked as published or deleted"},
    check{"database.user_indexes", needs::outbox, looks::as_anybody,
          "none on a column that changes when an event is published"},
    check{"database.sequence", needs::outbox, looks::as_anybody, "counts up, uncached"},
    check{"database.autovacuum", needs::outbox, looks::as_anybody, "on"},
    check{"database.partitions", needs::outbox, looks::as_anybody, "the outbox is not partitioned"},
    check{"database.commits", needs::outbox, looks::as_anybody,
          "are on disk before their events go out, unless a writer says otherwise"},
    check{"database.session", needs::outbox, looks::as_a_relay, check_relay_session},
    check{"database.settings", needs::login, looks::as_a_relay, check_settings},
    check{"database.notification", needs::login, looks::as_a_relay, check_notification},
    check{"database.clock", needs::login, looks::as_a_relay, check_clock},
    check{"database.connections", needs::login, looks::as_a_relay, ""},
    check{"database.locks", needs::outbox, looks::as_a_relay, check_locks},
    check{"database.snapshots", needs::login, looks::as_a_relay, ""},
};

finding ask(const check& one, context& of) {
  if (const auto* function = std::get_if<finding (*)(context&)>(&one.how)) return (*function)(of);
  const auto found = of.ask(of.statement(one.statement()));
  if (!found) return not_checked(found.error().message);
  if (found->size() == 0) return ok(std::get<const char*>(one.how));
  const auto words = std::string(found->at(0, 1));
  if (found->at(0, 0) == "ok") return ok(words);
  return (found->at(0, 0) == "failure" ? failure : warning)(words, std::string(found->at(0, 2)));
}

}  // namespace

findings check_database(context& of) {
  findings out;
  const auto opened = of.open();
  out.push_back(named("database.login", opened ? ok(fmt::format("as {} to database {} at {}", of.known.user,
                                                                of.known.database, of.raw().server()))
                                               : refused_login(of, opened.error())));
  for (const check& one : in_order) {
    if (!opened)
      out.push_back(named(one.name, not_checked("no login to PostgreSQL")));
    else if (one.first == needs::outbox && !of.known.has_outbox)
      out.push_back(named(one.name, not_checked("there is no outbox that this outboxd supports")));
    else
      out.push_back(named(one.name, ask(one, of)));
    if (out.back().how == verdict::ok) of.known.sound.insert(one.name);
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
    if (one.who == looks::as_a_relay || (one.first == needs::outbox && !of.known.has_outbox)) continue;
    auto found = named(one.name, ask(one, of));
    if (found.how == verdict::warning || found.how == verdict::failure) out.push_back(std::move(found));
  }
  return out;
}

}  // namespace outboxd::app::check
