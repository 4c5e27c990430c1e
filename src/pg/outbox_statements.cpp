#include "pg/outbox_statements.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <limits>

#include "pg/binary.hpp"

namespace outboxd::pg {
namespace {

// claim_column's, in order.
constexpr std::string_view claim_columns =
    "id, place, shard, seq, aggregate_type, aggregate_id, event_type, payload,"
    " headers, exchange, routing_key, attempts, nacks, created_at, behind, has_followers";

// The same of events that have none before or behind them.
constexpr std::string_view columns_of_free =
    "id, place, shard, seq, aggregate_type, aggregate_id, event_type, payload,"
    " headers, exchange, routing_key, attempts, nacks, created_at, NULL::bigint, NULL::boolean";

}  // namespace

// Statements are planned once, perhaps on an empty table, where any way is as good as the right one. So they leave the
// planner no other: IS NOT DISTINCT FROM leads into no index, ctid = ANY into no join, and what has an OFFSET is run for
// each row of the other side.
std::vector<prepared> lane_statements(const schema_name& schema, std::chrono::milliseconds claim_timeout,
                                      after_publish then) {
  const std::string in = schema.identifier();
  std::vector<prepared> all;
  // Null, for its type.
  const std::string payload = fmt::format("(SELECT e.payload FROM {}.event AS e WHERE false)", in);
  const auto add = [&](std::string_view name, std::string sql) {
    all.push_back({std::string(name), std::move(sql)});
  };

  add(statement::begin, std::string(begin_transaction));
  add(statement::commit, "COMMIT");
  add(statement::rollback, "ROLLBACK");
  add(statement::guard,
      fmt::format("SET LOCAL idle_in_transaction_session_timeout = {}", claim_timeout.count()));
  add(statement::take_shards,
      fmt::format("SELECT shards, starts, lowest, {} FROM {}.take_shards($1, $2, $3, $4, $5)", payload, in));
  add(statement::claim, fmt::format("SELECT {} FROM {}.claimed($1, $2)", claim_columns, in));
  add(statement::claim_few, fmt::format("SELECT {}, floor, {} FROM {}.claim_few($1, $2, $3, $4, $5)",
                                        columns_of_free, payload, in));
  add(statement::bulk_plan,
      "SELECT set_config('enable_indexscan', 'off', true), set_config('enable_bitmapscan', 'on', true)");
  add(statement::claim_in_bulk,
      fmt::format("SELECT {} FROM {}.claimed_in_bulk($1, $2)", columns_of_free, in));
  add(statement::usual_plan,
      "SELECT set_config('enable_indexscan', 'on', true), set_config('enable_bitmapscan', 'off', true)");
  add(statement::claim_within,
      fmt::format("SELECT {} FROM (SELECT c.*, sum(c.size) OVER (ROWS UNBOUNDED PRECEDING) AS total"
                  " FROM {}.claimed($1, {}) AS c) AS b WHERE b.total <= $2 OR b.total = b.size",
                  claim_columns, in, std::numeric_limits<std::int32_t>::max()));
  add(statement::mark_published,
      fmt::format("SELECT {}.{}($1, $2)", in,
                  then == after_publish::keep ? "mark_published" : "delete_published"));
  add(statement::set_back,
      fmt::format(
          "UPDATE {0}.event AS e SET status = s.status::{0}.event_status,"
          " aside = s.status::{0}.event_status, attempts = e.attempts + s.attempts,"
          " nacks = least(e.nacks + s.nacks, 32767),"
          " available_at = coalesce(clock_timestamp() + s.delay * interval '1 millisecond', e.available_at),"
          " last_error = coalesce(s.reason, e.last_error), behind = s.behind"
          " FROM unnest($1::uuid[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::text[], "
          "$7::bigint[])"
          " AS s(id, status, attempts, nacks, delay, reason, behind)"
          " WHERE e.id = s.id AND e.status IS NOT DISTINCT FROM 'pending'",
          in));
  add(statement::release,
      fmt::format(
          "UPDATE {0}.event SET status = 'pending', behind = NULL, aside = 'pending'"
          " WHERE ctid = ANY (ARRAY(SELECT w.place FROM unnest($1::bigint[]) AS h(seq) CROSS JOIN LATERAL"
          " (SELECT w.ctid AS place, w.seq FROM {0}.event AS w"
          " WHERE w.shard + 0 = ANY (current_setting('outboxd.shards')::integer[])"
          " AND w.behind = h.seq OFFSET 0) AS w"
          " ORDER BY w.seq LIMIT {1}))",
          in, most_released));
  return all;
}

namespace {

// - synchronous_commit: a mark that a crash of PostgreSQL loses is made again after the event was published again,
//   which guarantee 4 allows; so no batch waits for a flush or for a standby.
// - row_security: with it off, a policy that would hide events is an error instead of silence.
// - enable_*: every statement has one right plan, through the indexes, also when it is planned on an empty table. That of
//   claim_in_bulk is a bitmap, see bulk_plan.
// - plan_cache_mode: and so nothing is planned twice.
// - jit: a scan that is avoided at any price, but not avoidable, would look dear enough for compiling.
std::string set_configs(std::chrono::milliseconds claim_timeout, bool of_the_transaction) {
  return fmt::format(
      "SELECT set_config('synchronous_commit', 'off', {0}), set_config('row_security', 'off', {0}),"
      " set_config('enable_seqscan', 'off', {0}), set_config('enable_bitmapscan', 'off', {0}),"
      " set_config('plan_cache_mode', 'force_generic_plan', {0}), set_config('enable_hashjoin', 'off', {0}),"
      " set_config('enable_mergejoin', 'off', {0}), set_config('jit', 'off', {0}), "
      "set_config('statement_timeout', '{1}', {0})",
      of_the_transaction, claim_timeout.count());
}

}  // namespace

// tcp_*: find a relay whose host vanished.
std::string session_settings(std::chrono::milliseconds claim_timeout) {
  return set_configs(claim_timeout, false) +
         ", set_config('default_transaction_isolation', 'read committed', false),"
         " set_config('tcp_keepalives_idle', '10', false), set_config('tcp_keepalives_interval', '5', false),"
         " set_config('tcp_keepalives_count', '3', false), set_config('tcp_user_timeout', '25000', false)";
}

std::string transaction_settings(std::chrono::milliseconds claim_timeout) {
  return set_configs(claim_timeout, true);
}

namespace {

// Of numbers, lists of numbers, and virtual transaction ids such as 3/17 and -1/712.
std::string literal_of(const std::string& known) {
  if (known.empty() || known.find_first_not_of("0123456789-/,{}") != std::string::npos) return "NULL";
  return "'" + known + "'";
}

}  // namespace

std::string sweep_statement(const schema_name& schema, int max_due, const sweep_knowledge& known,
                            const std::string& probe_channel) {
  return fmt::format(
      "SELECT due, woken, queues, extract(epoch FROM next_due), current_setting('transaction_read_only'),"
      " pg_backend_pid(), floors, settled, mark, writers, epoch, searched, contended{}"
      " FROM {}.sweep({}, {}, {}, {}, {}, {}, {})",
      probe_channel.empty() ? "" : fmt::format(", pg_notify('{}', '')", probe_channel), schema.identifier(),
      max_due, literal_of(known.floors), literal_of(known.settled.settled), literal_of(known.settled.mark),
      literal_of(known.settled.writers), literal_of(known.epoch), literal_of(known.searched));
}

std::string settle_statement(const schema_name& schema, const settled_knowledge& known) {
  return fmt::format("SELECT settled, mark, writers FROM {}.settle({}, {}, {})", schema.identifier(),
                     literal_of(known.settled), literal_of(known.mark), literal_of(known.writers));
}

std::int64_t read_settled(const settled_knowledge& from) {
  std::int64_t out = -1;
  std::from_chars(from.settled.data(), from.settled.data() + from.settled.size(), out);
  return out;
}

std::vector<std::int64_t> read_floors(std::string_view text) {
  std::vector<std::int64_t> all;
  if (text.size() <= 2 || text.front() != '{' || text.back() != '}') return all;
  const char* at = text.data() + 1;
  const char* const end = text.data() + text.size() - 1;
  while (at < end) {
    std::int64_t value = 0;
    const auto [stopped, failed] = std::from_chars(at, end, value);
    if (failed != std::errc() || (stopped != end && *stopped != ',')) return {};
    all.push_back(value);
    at = stopped + 1;
  }
  return all;
}

std::string floors_literal(std::span<const std::int64_t> floors) {
  return fmt::format("{{{}}}", fmt::join(floors, ","));
}

std::string floors_parameter(std::span<const std::int64_t> floors) {
  return int8_array(floors);
}

std::string silence_statement(const schema_name& schema) {
  return fmt::format("SELECT {}.silence_is_over()", schema.identifier());
}

std::string ring_statement(const schema_name& schema) {
  return fmt::format("SELECT pg_notify({}, '')", schema.literal());
}

// A utility statement: as the last one it makes the server drop the snapshot, which would hold back vacuum.
std::string mute_guard(std::chrono::milliseconds hang) {
  return fmt::format("SET LOCAL idle_in_transaction_session_timeout = {}", hang.count());
}

std::vector<std::string> mute_statements(const schema_name& schema, std::chrono::milliseconds wait,
                                         std::chrono::milliseconds hang) {
  return {std::string(begin_transaction), fmt::format("SET LOCAL lock_timeout = {}", wait.count()),
          fmt::format("SELECT {}.mute()", schema.identifier()), mute_guard(hang)};
}

std::string trigger_statement(const schema_name& schema) {
  return fmt::format(
      "SELECT EXISTS (SELECT FROM pg_trigger AS t JOIN pg_class AS c ON c.oid = t.tgrelid"
      " JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE n.nspname = {} AND c.relname = 'event'"
      " AND t.tgname = 'event_doorbell' AND t.tgenabled IN ('O', 'A'))",
      schema.literal());
}

std::string release_orphans_statement(const schema_name& schema) {
  return fmt::format("SELECT {}.release_orphans({})", schema.identifier(), most_released);
}

}  // namespace outboxd::pg
