#include "relay/database_session.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <string>

#include "pg/lock_wait.hpp"
#include "relay/read_secret.hpp"
#include "store/event_rows.hpp"
#include "store/rights.hpp"

namespace outboxd::relay {
namespace {

constexpr std::string_view remedy =
    "name the writable host in database.url, or several with target_session_attrs=read-write";

boost::asio::awaitable<result<pg::rows>> ask(pg::connection& link, std::string sql,
                                             std::chrono::milliseconds within) {
  pg::pipeline steps;
  steps.text(std::move(sql));
  OUTBOXD_CO_TRY(auto answers, co_await link.execute(std::move(steps), within));
  co_return std::move(answers.front());
}

// The first statement of a session. After it, unqualified names refer only to PostgreSQL's own objects, even
// if users have created objects of the same names.
constexpr std::string_view own_search_path =
    "SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', false)";

// - synchronous_commit: if PostgreSQL crashes and loses a mark, the event is published and marked again,
//   which guarantee 4 allows; so no mark waits for a flush or for a standby.
// - row_security: if off, a policy that would hide events causes an error.
// - lock_timeout: a mark that meets a lock must not delay the statements after it.
// - idle_session_timeout: a relay that hangs loses the lead, and no longer counts as one that could lead. A
//   healthy session is never silent that long, whether the relay leads or not.
// - transaction_timeout, from PostgreSQL 17 on: a database-wide value is meant for applications; here it
//   would cost the lead.
// - tcp_*, client_connection_check_interval: detect a relay whose host or process has vanished.
// - The lock RELAY distinguishes relays' sessions from others that hold the same locks. If another session
//   holds RELAY exclusively, a relay's session cannot be recognised as such.
std::string session_settings(const postgres_settings& with, session_use use) {
  constexpr std::chrono::milliseconds mark_wait{20};
  const auto idle = use == session_use::stream ? with.claim_timeout : std::chrono::milliseconds(0);
  const auto lock_wait = use == session_use::stream ? mark_wait : pg::longest_lock_wait;
  return fmt::format(
      "SELECT set_config('synchronous_commit', 'off', false),"
      " set_config('row_security', 'off', false), {6},"
      " set_config('default_transaction_isolation', 'read committed', false),"
      " set_config('statement_timeout', '{0}', false), set_config('idle_in_transaction_session_timeout', "
      "'{0}', false),"
      " set_config('idle_session_timeout', '{3}', false), set_config('lock_timeout', '{1}', false),"
      " set_config('tcp_keepalives_idle', '10', false), set_config('tcp_keepalives_interval', '5', false),"
      " set_config('tcp_keepalives_count', '3', false), set_config('tcp_user_timeout', '{0}', false),"
      " set_config('client_connection_check_interval', '{2}', false), pg_try_advisory_lock_shared({4}, {5}),"
      " (SELECT set_config('transaction_timeout', '0', false)"
      "  WHERE current_setting('transaction_timeout', true) IS NOT NULL)",
      with.claim_timeout.count(), lock_wait.count(), with.claim_timeout.count() / 4, idle.count(),
      store::lock_class(with.schema), store::relay_key, store::planner_settings);
}

boost::asio::awaitable<result<void>> check_server(pg::connection& link, const postgres_settings& with) {
  link.explain_denials([schema = with.schema](std::string_view words) {
    return store::denial_query(schema, store::relay_role, words);
  });
  OUTBOXD_CO_TRY_VOID(co_await ask(link, std::string(own_search_path), with.connect_timeout));
  const auto facts =
      co_await ask(link,
                   "SELECT pg_is_in_recovery(), current_setting('transaction_read_only'), pg_backend_pid(),"
                   " current_setting('server_version_num')",
                   with.connect_timeout);
  if (!facts) co_return tl::make_unexpected(facts.error());
  if (facts->at(0, 0) == "t")
    co_return transient(fmt::format("the server at {} is a standby (read-only); {}", link.server(), remedy),
                        cause::read_only);
  if (facts->at(0, 1) == "on") co_return tl::make_unexpected(is_read_only(link));
  const auto version = facts->number_at(0, 3);
  if (version < store::oldest_server)
    co_return permanent(fmt::format("the server at {} is PostgreSQL {}; outboxd needs 14 or newer",
                                    link.server(), version / 10'000));
  co_return co_await prove_own_session(link, with, std::string(facts->at(0, 2)));
}

boost::asio::awaitable<result<void>> look_what_is_open(pg::connection& link, const postgres_settings& with,
                                                       outbox_facts& into) {
  constexpr auto open_sql =
      "SELECT has_function_privilege('pg_notification_queue_usage()', 'EXECUTE'),"
      " has_function_privilege('pg_control_system()', 'EXECUTE'),"
      " has_function_privilege('pg_stat_get_activity(integer)', 'EXECUTE')"
      " AND has_function_privilege('pg_terminate_backend(integer, bigint)', 'EXECUTE')"
      " AND has_table_privilege('pg_stat_activity', 'SELECT'),"
      // Privileges on pg_locks are checked here, because a session that failed to read pg_locks later would
      // count as working.
      " EXISTS (SELECT FROM pg_locks)";
  OUTBOXD_CO_TRY(const auto open, co_await ask(link, open_sql, with.connect_timeout));
  into.may = {.queue_usage = open.at(0, 0) == "t",
              .control_system = open.at(0, 1) == "t",
              .sessions = open.at(0, 2) == "t"};
  if (into.may.queue_usage && into.may.control_system && into.may.sessions) co_return result<void>();
  OUTBOXD_CO_TRY(const auto lacks,
                 co_await ask(link, store::denial_query(with.schema, store::relay_role, open_sql),
                              with.connect_timeout));
  into.goes_without = lacks.find(0, 0).value_or("");
  co_return result<void>();
}

boost::asio::awaitable<result<outbox_facts>> check_outbox(pg::connection& link,
                                                          const postgres_settings& with) {
  constexpr auto facts_sql =
      "SELECT a.atttypid, (SELECT max(m.version) FROM {}.migration AS m),"
      " (SELECT min(quote_ident(r.rulename)) FROM pg_rewrite AS r WHERE r.ev_class = c.oid"
      " AND r.ev_enabled <> 'D' AND r.ev_type IN ('2', '{}'))"
      " FROM pg_attribute AS a JOIN pg_class AS c ON c.oid = a.attrelid"
      " JOIN pg_namespace AS n ON n.oid = c.relnamespace"
      " WHERE n.nspname = {} AND c.relname = 'event' AND a.attname = 'payload'";
  OUTBOXD_CO_TRY(const auto facts,
                 co_await ask(link,
                              fmt::format(facts_sql, with.schema.identifier(),
                                          with.after_publish == store::after_publish::remove ? '4' : '2',
                                          with.schema.literal()),
                              with.connect_timeout));
  if (facts.size() == 0)
    co_return permanent(
        fmt::format("there is no outbox in the schema {}; run `outboxd migrate`, or name its schema "
                    "in outbox.schema",
                    with.schema.name()),
        cause::schema_missing);
  const auto version = facts.number_at(0, 1);
  OUTBOXD_CO_TRY_VOID(check_version(with.schema, version));
  if (!facts.is_null(0, 2))
    co_return permanent(
        fmt::format("the rule {0} of {1}.event replaces the relay's statements; DROP RULE {0} ON {1}.event",
                    facts.at(0, 2), with.schema.identifier()));
  const auto payload = store::payload_type_of(static_cast<Oid>(facts.number_at(0, 0)));
  if (!payload) co_return permanent("the outbox's column payload is not of type jsonb, json, text or bytea");
  outbox_facts out{.payload = *payload, .version = version, .may = {}, .goes_without = {}};
  OUTBOXD_CO_TRY_VOID(co_await look_what_is_open(link, with, out));
  co_return out;
}

}  // namespace

// A pooler sends a process number of its own at connection start, to recognise cancel requests. In
// transaction mode, the next client may get the same server session.
boost::asio::awaitable<result<void>> prove_own_session(pg::connection& link, const postgres_settings& with,
                                                       std::string pid) {
  if (pid == std::to_string(link.backend_pid())) co_return result<void>();
  OUTBOXD_CO_TRY(const auto url, co_await read_secret(with.url));
  pg::connection other(link.executor());
  OUTBOXD_CO_TRY_VOID(co_await other.open(url, with.connect_timeout));
  OUTBOXD_CO_TRY(const auto theirs,
                 co_await ask(other, "SELECT pg_catalog.pg_backend_pid()", with.connect_timeout));
  OUTBOXD_CO_TRY(const auto again,
                 co_await ask(link, "SELECT pg_catalog.pg_backend_pid()", with.connect_timeout));
  if (again.at(0, 0) == pid && theirs.at(0, 0) != pid) co_return result<void>();
  co_return permanent(
      "database.url leads to a connection pooler that changes the session between transactions; the locks "
      "and the LISTEN of a relay do not survive there. Name the server itself, or a pool in session mode");
}

result<void> check_version(const pg::schema_name& schema, std::int64_t version) {
  if (version == store::schema_version || version == store::schema_version + 1) return {};
  if (version == 0)
    return permanent(fmt::format("the schema {} has no record of its version, as after a restore without its "
                                 "rows; `outboxd migrate` restores it",
                                 schema.name()),
                     cause::schema_version);
  return permanent(
      fmt::format("the schema {} has version {}, and this outboxd works with {} and {}; {}", schema.name(),
                  version, store::schema_version, store::schema_version + 1,
                  version < store::schema_version ? "run `outboxd migrate`" : "run a newer outboxd"),
      cause::schema_version);
}

boost::asio::awaitable<result<outbox_facts>> open_session(pg::connection& link, const postgres_settings& with,
                                                          session_use use) {
  OUTBOXD_CO_TRY(const auto url, co_await read_secret(with.url));
  OUTBOXD_CO_TRY_VOID(co_await link.open(url, with.connect_timeout));
  OUTBOXD_CO_TRY_VOID(co_await check_server(link, with));
  OUTBOXD_CO_TRY_VOID(co_await ask(link, session_settings(with, use), with.connect_timeout));
  if (use == session_use::lock) co_return outbox_facts{};
  co_return co_await check_outbox(link, with);
}

boost::asio::awaitable<result<int>> server_process(pg::connection& link, const postgres_settings& with) {
  OUTBOXD_CO_TRY(const auto pid, co_await ask(link, "SELECT pg_backend_pid()", with.connect_timeout));
  co_return static_cast<int>(pid.number_at(0, 0));
}

boost::asio::awaitable<result<void>> end_former_sleeper(pg::connection& link, const postgres_settings& with,
                                                        int shard, int own) {
  constexpr auto sql =
      "WITH locks AS MATERIALIZED (SELECT l.pid, l.objid, l.mode FROM pg_locks AS l WHERE l.locktype "
      "= "
      "'advisory'"
      " AND l.classid = {} AND l.granted AND l.database = (SELECT d.oid FROM pg_database AS d"
      " WHERE d.datname = current_database()))"
      " SELECT pg_terminate_backend(a.pid) FROM locks AS l JOIN pg_stat_activity AS a ON a.pid = l.pid"
      " WHERE l.objid = {} AND l.mode = 'ExclusiveLock' AND a.usename = current_user AND a.pid <> {}"
      " AND EXISTS (SELECT FROM locks AS r WHERE r.pid = l.pid AND r.objid = {})";
  OUTBOXD_CO_TRY_VOID(co_await ask(
      link, fmt::format(sql, store::lock_class(with.schema), store::sleep_key + shard, own, store::relay_key),
      with.claim_timeout));
  co_return result<void>();
}

error is_read_only(const pg::connection& link) {
  return {
      fault::transient,
      fmt::format("the server at {} is read-only (default_transaction_read_only); {}", link.server(), remedy),
      cause::read_only};
}

// A relay closes a session that does not answer for claim_timeout, and by then the server has ended every
// statement that it can end. So if a session holds a lead and has been in the same state for longer, no relay
// uses the session any more. Other programs that may hold a lead, such as migrate, do not hold RELAY.
boost::asio::awaitable<result<void>> end_hanging_leaders(pg::connection& link,
                                                         const postgres_settings& with) {
  constexpr auto sql =
      "WITH locks AS MATERIALIZED (SELECT l.pid, l.objid FROM pg_locks AS l WHERE l.locktype "
      "= 'advisory'"
      " AND l.classid = {} AND l.granted AND l.database = (SELECT d.oid FROM pg_database AS d"
      " WHERE d.datname = current_database()))"
      " SELECT pg_terminate_backend(a.pid) FROM locks AS l JOIN pg_stat_activity AS a ON "
      "a.pid = l.pid"
      " WHERE l.objid < {} AND a.usename = current_user AND a.state <> 'idle'"
      " AND (a.wait_event IN ('ClientRead', 'ClientWrite')"
      " OR EXISTS (SELECT FROM locks AS r WHERE r.pid = l.pid AND r.objid = {}))"
      " AND a.state_change < clock_timestamp() - {} * interval '1 millisecond'";
  OUTBOXD_CO_TRY_VOID(
      co_await ask(link,
                   fmt::format(sql, store::lock_class(with.schema), store::lead_key + store::most_shards,
                               store::relay_key, with.claim_timeout.count()),
                   with.claim_timeout));
  co_return result<void>();
}

boost::asio::awaitable<result<server_session>> succeed(pg::connection& link, const postgres_settings& with,
                                                       const server_session& former, store::open_to_all may) {
  if (!may.sessions) co_return server_session{};
  const std::string began = former.began.empty() ? "NULL" : former.began;
  constexpr auto found_sql =
      "SELECT a.pid, extract(epoch FROM a.backend_start),"
      " (SELECT pg_terminate_backend(f.pid) FROM pg_stat_activity AS f WHERE f.pid = {}"
      " AND f.pid <> a.pid AND extract(epoch FROM f.backend_start) = {} AND f.usename = current_user)"
      " FROM pg_stat_activity AS a WHERE a.pid = pg_backend_pid()";
  OUTBOXD_CO_TRY(const auto found,
                 co_await ask(link, fmt::format(found_sql, former.pid, began), with.connect_timeout));
  if (found.size() == 0) co_return server_session{};
  co_return server_session{static_cast<int>(found.number_at(0, 0)), std::string(found.at(0, 1))};
}

}  // namespace outboxd::relay
