#include "pg/outbox_statements.hpp"

#include <fmt/format.h>

namespace outboxd::pg {

std::vector<prepared> lane_statements(const schema_name& schema, std::chrono::milliseconds claim_timeout) {
  const std::string in = schema.identifier();
  std::vector<prepared> all;
  const auto add = [&](std::string_view name, std::string sql) {
    all.push_back({std::string(name), std::move(sql)});
  };

  add(statement::begin, std::string(begin_transaction));
  add(statement::commit, "COMMIT");
  add(statement::rollback, "ROLLBACK");
  add(statement::guard,
      fmt::format("SET LOCAL idle_in_transaction_session_timeout = {}", claim_timeout.count()));
  add(statement::claim,
      fmt::format(
          "SELECT id, seq, aggregate_type, aggregate_id, event_type, payload, headers, exchange, routing_key,"
          " attempts, nacks, created_at, behind, shard_waits, more FROM {}.claim($1, $2, $3)"
          " WHERE current_setting('transaction_read_only') = 'off'",
          in));
  add(statement::mark_published,
      fmt::format("UPDATE {}.event SET status = 'published', published_at = clock_timestamp()"
                  " WHERE id = ANY ($1::uuid[])",
                  in));
  add(statement::set_back,
      fmt::format(
          "UPDATE {0}.event AS e SET status = s.status::{0}.event_status, attempts = e.attempts + s.attempts,"
          " nacks = least(e.nacks + s.nacks, 32767),"
          " available_at = coalesce(clock_timestamp() + s.delay * interval '1 millisecond', e.available_at),"
          " last_error = coalesce(s.reason, e.last_error), behind = s.behind"
          " FROM unnest($1::uuid[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::text[], "
          "$7::bigint[])"
          " AS s(id, status, attempts, nacks, delay, reason, behind)"
          " WHERE e.id = s.id AND e.status = 'pending'",
          in));
  add(statement::release,
      fmt::format("UPDATE {0}.event SET status = 'pending', behind = NULL"
                  " WHERE id IN (SELECT w.id FROM {0}.event AS w WHERE w.behind = ANY ($1::bigint[])"
                  " ORDER BY w.seq LIMIT {1})",
                  in, most_released));
  return all;
}

namespace {

// - synchronous_commit: a mark that a crash of PostgreSQL loses is made again after the event was published again,
//   which guarantee 4 allows; so no batch waits for a flush or for a standby.
// - row_security: with it off, a policy that would hide events is an error instead of silence.
// - enable_*: every statement has one right plan, through the indexes, also when it is planned on an empty table.
std::string set_configs(std::chrono::milliseconds claim_timeout, bool of_the_transaction) {
  return fmt::format(
      "SELECT set_config('synchronous_commit', 'off', {0}), set_config('row_security', 'off', {0}),"
      " set_config('enable_seqscan', 'off', {0}), set_config('enable_hashjoin', 'off', {0}),"
      " set_config('enable_mergejoin', 'off', {0}), set_config('statement_timeout', '{1}', {0})",
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

std::string sweep_statement(const schema_name& schema, int max_due, const std::string& probe_channel) {
  return fmt::format(
      "SELECT due, woken, queues, extract(epoch FROM next_due), current_setting('transaction_read_only'),"
      " pg_backend_pid(){} FROM {}.sweep({})",
      probe_channel.empty() ? "" : fmt::format(", pg_notify('{}', '')", probe_channel), schema.identifier(),
      max_due);
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
