#include "app/adopt/adopting.hpp"

#include <fmt/format.h>

#include <chrono>
#include <thread>

#include "app/adopt/quoting.hpp"
#include "app/command/outcome.hpp"
#include "core/text.hpp"
#include "pg/connection_string.hpp"
#include "pg/sqlstate.hpp"

namespace outboxd::app {
namespace {

using namespace std::chrono_literals;

// Writers queue up behind a waiting lock request, so each attempt is short and is repeated for a minute.
constexpr std::string_view lock_wait = "100ms";
constexpr auto between_tries = 200ms;
constexpr auto longest_adoption = 60s;
constexpr std::string_view deadlock = "40P01";

// The server's message could quote a row of the backlog.
std::string_view words_for(std::string_view sqlstate) {
  if (sqlstate == "23505") return "the outbox has an event with the id of one of the rows already";
  if (sqlstate == "23502")
    return "a row has a null where an event may have none; --null-payload and --unfit tell what becomes of "
           "it";
  if (sqlstate == "23514")
    return "a row has an empty name, or headers that are no JSON object; --unfit skip leaves it there";
  if (sqlstate.starts_with("22"))
    return "a row has a value that cannot be cast, such as a payload that is no JSON; --unfit skip leaves it "
           "there";
  return {};
}

}  // namespace

command_failure refusal_of(const pg::refusal& why) {
  if (why.sqlstate.empty())
    return {
        exit_failure,
        fmt::format(
            "the connection to PostgreSQL was lost: {}; nothing was changed unless the table is adopted now",
            why.words)};
  const auto known = words_for(why.sqlstate);
  return {exit_failure, fmt::format("nothing was changed: {}",
                                    known.empty() ? pg::refused_statement(why.sqlstate, why.words).message
                                                  : fmt::format("{} (SQLSTATE {})", known, why.sqlstate))};
}

outcome<pg::rows> adopting::execute(const std::string& sql) {
  auto answer = session_.execute(sql);
  if (!answer) return tl::make_unexpected(refusal_of(answer.error()));
  return std::move(*answer);
}

// - idle_in_transaction_session_timeout: there are pauses between the attempts.
// - lock_timeout: other sessions may have locked rows of the backlog.
outcome<void> adopting::begin() {
  const auto begun = execute(
      "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; SET LOCAL lock_timeout = '10s'; SET LOCAL "
      "row_security = off;"
      " SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0;"
      " SET LOCAL timezone = 'UTC'; SET LOCAL client_min_messages = warning;"
      " SELECT pg_advisory_xact_lock(hashtextextended('outboxd adopt', 0))");
  if (!begun) return tl::make_unexpected(begun.error());
  return {};
}

outcome<void> adopting::become(const std::string& owner) {
  OUTBOXD_TRY_VOID(execute("SET LOCAL ROLE " + quoted_name(owner)));
  return {};
}

outcome<void> adopting::remove(const source_table& table) {
  OUTBOXD_TRY_VOID(under_lock(table, {removal_statements(table)}));
  return {};
}

outcome<std::int64_t> adopting::make(const adoption& what, bool takes_backlog) {
  const auto backlog = takes_backlog ? backlog_of(what) : backlog_statements{};
  std::int64_t taken = 0;
  for (const auto& one : backlog.before_lock) {
    OUTBOXD_TRY(const auto done, execute(one));
    taken = done.affected();
  }
  std::string when = what.from.adoption ? what.from.adoption->backlog_taken : "";
  if (takes_backlog) {
    OUTBOXD_TRY(const auto now,
                execute("SELECT to_char(clock_timestamp(), 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"')"));
    when = now.at(0, 0);
  }
  std::vector<std::string> statements{removal_statements(what.from) + adoption_statements(what, when)};
  statements.insert(statements.end(), backlog.under_lock.begin(), backlog.under_lock.end());
  const auto rest = under_lock(what.from, statements);
  if (!rest) return rest;
  return taken + (backlog.under_lock.empty() ? 0 : *rest);
}

outcome<void> adopting::commit() {
  OUTBOXD_TRY_VOID(execute("COMMIT"));
  return {};
}

outcome<std::int64_t> adopting::under_lock(const source_table& table,
                                           const std::vector<std::string>& statements) {
  const auto deadline = std::chrono::steady_clock::now() + longest_adoption;
  for (;;) {
    auto done = session_.execute(fmt::format("SAVEPOINT unlocked; SET LOCAL lock_timeout = '{}'; {}",
                                             lock_wait, lock_statement(table)));
    for (const auto& one : statements)
      if (done) done = session_.execute(one);
    if (done) return done->affected();
    const bool in_the_way = pg::is_lock_timeout(done.error().sqlstate) || done.error().sqlstate == deadlock;
    if (!in_the_way) return tl::make_unexpected(refusal_of(done.error()));
    if (const auto back = execute("ROLLBACK TO SAVEPOINT unlocked; RELEASE SAVEPOINT unlocked"); !back)
      return tl::make_unexpected(back.error());
    const auto holders = lock_holders(table);
    if (std::chrono::steady_clock::now() >= deadline)
      return run_failure(
          fmt::format("nothing was changed: others hold locks of {}, or of its rows: {}; try again",
                      table.shown(), holders));
    say_(fmt::format("others hold locks of {}, or of its rows: {}; trying again", table.shown(), holders));
    std::this_thread::sleep_for(between_tries);
  }
}

std::string adopting::lock_holders(const source_table& table) {
  const auto found = session_.execute(
      "SELECT string_agg(DISTINCT format('pid %s (user %s, application %s)', a.pid, a.usename, "
      "a.application_name), ', ')"
      " FROM pg_locks AS l JOIN pg_stat_activity AS a ON a.pid = l.pid"
      " WHERE l.granted AND l.locktype = 'relation' AND l.relation = $1::oid AND l.pid <> pg_backend_pid()"
      " AND l.database = (SELECT d.oid FROM pg_database AS d WHERE d.datname = current_database())",
      {table.oid});
  if (!found || found->size() == 0 || found->is_null(0, 0)) return "nobody any more";
  return pg::one_line(found->at(0, 0));
}

}  // namespace outboxd::app
