#include "pg/relay_statements.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace outboxd::pg {
namespace {

// What every statement that returns events does with its rows: texts are made once, and come along if all of
// an event's together are not larger than $1. A size is exact, but for a payload that is stored larger than
// that: then it is what it takes there, eightfold if it is compressed. `e` is the row, with its ctid as
// place. OFFSET 0 keeps the planner from making the texts again for each use.
constexpr std::string_view event_open = R"((
  SELECT t.*, coalesce(octet_length(t.payload), t.stored) + coalesce(octet_length(t.headers), $1::bigint + 1)
           + octet_length(t.aggregate_type) + octet_length(t.aggregate_id) + octet_length(t.event_type)
           + coalesce(octet_length(t.exchange), 0) + coalesce(octet_length(t.routing_key), 0) AS size
  FROM (
    SELECT e.id, e.place, e.seq, e.hash, e.attempts, e.deferrals, e.exception::text AS exception, e.created_at, e.available_at,
           CASE WHEN e.exception IS NULL THEN NULL
             WHEN e.last_error_code = 'destination_down' AND e.last_error LIKE 'refused% topic ''%' THEN 'topic_down'
             WHEN e.last_error_code = 'destination_down' AND e.last_error LIKE 'refused%' THEN 'exchange_down'
             WHEN e.last_error_code = 'not_sent' AND e.last_error LIKE '%its exchange has%' THEN 'exchange_not_sent'
             ELSE e.last_error_code END AS failure,
           e.aggregate_type, e.aggregate_id, e.event_type,
           CASE WHEN pg_column_size(e.payload) <= $1::bigint THEN e.payload::@payload_octets@ END AS payload,
           CASE WHEN pg_column_size(e.payload) > $1::bigint THEN pg_column_size(e.payload)::bigint
             * CASE WHEN pg_column_compression(e.payload) IS NULL THEN 1 ELSE 8 END END AS stored,
           CASE WHEN pg_column_size(e.headers) <= $1::bigint THEN e.headers::text END AS headers,
           coalesce(e.replay_exchange, e.exchange) AS exchange, coalesce(e.replay_routing_key, e.routing_key) AS routing_key
    FROM ()";
constexpr std::string_view event_close = R"() AS e
    OFFSET 0) AS t
  OFFSET 0) AS f)";
constexpr std::string_view event_columns =
    "f.id, f.place, f.seq, f.hash, f.attempts, f.deferrals, f.exception, f.created_at, f.available_at, "
    "f.failure, f.size,"
    " CASE WHEN f.size <= $1::bigint THEN f.aggregate_type END, CASE WHEN f.size <= $1::bigint THEN "
    "f.aggregate_id END,"
    " CASE WHEN f.size <= $1::bigint THEN f.event_type END, CASE WHEN f.size <= $1::bigint THEN f.payload "
    "END,"
    " CASE WHEN f.size <= $1::bigint THEN f.headers END, CASE WHEN f.size <= $1::bigint THEN f.exchange END,"
    " CASE WHEN f.size <= $1::bigint THEN f.routing_key END";

// Whether an earlier event of its aggregate waits, too. backing_off is before parked.
constexpr std::string_view event_behind = R"(coalesce((
         SELECT h.seq FROM @schema@.event AS h
         WHERE h.exception IN ('backing_off', 'parked') AND h.hash = f.hash
         ORDER BY h.exception, h.seq LIMIT 1) < f.seq, false)
       OR coalesce((
         SELECT h.seq FROM @schema@.event AS h
         WHERE h.exception IN ('backing_off', 'parked') AND h.hash = f.hash AND h.exception >= 'parked'
         ORDER BY h.exception, h.seq LIMIT 1) < f.seq, false))";

// Rows that the statement has found before, by place: `k` has their ctid as place, and their seq. In a
// partitioned outbox each partition has a row with this ctid; the seq tells in which one to look.
constexpr std::string_view event_at = "e.ctid = k.place AND e.seq = k.seq AND (k.seq & 0) = 0 AND @few@";

// What is always true, and makes the planner think that there are few places (so does `& 0`). A plan made on
// an empty table would else look each of them up in the index on seq, or go through all of that.
constexpr std::string_view few = "k.place BETWEEN '(0,0)' AND '(4294967295,65535)'";

using replacement = std::pair<std::string_view, std::string>;

std::string replaced(std::string text, const replacement& what) {
  for (auto at = text.find(what.first); at != std::string::npos;
       at = text.find(what.first, at + what.second.size()))
    text.replace(at, what.first.size(), what.second);
  return text;
}

}  // namespace

std::vector<prepared> relay_statements(const schema_name& schema, payload_type payload, after_publish then) {
  const std::array<replacement, 9> all{{
      {"@event_open@", std::string(event_open)},
      {"@event_close@", std::string(event_close)},
      {"@event_columns@", std::string(event_columns)},
      {"@event_behind@", std::string(event_behind)},
      {"@event_at@", std::string(event_at)},
      {"@few@", std::string(few)},
      {"@payload_octets@", payload == payload_type::bytea ? "bytea" : "text"},
      {"@schema_text@", schema.literal()},
      {"@schema@", schema.identifier()},
  }};
  std::vector<prepared> out;
  for (const statement_text& one : statement_texts()) {
    const bool removes = one.name.starts_with("remove");
    if (removes != (then == after_publish::remove) && (removes || one.name.starts_with("mark"))) continue;
    const std::string name =
        removes ? replaced(std::string(one.name), {"remove", "mark"}) : std::string(one.name);
    std::string sql(one.sql);
    for (const replacement& what : all) sql = replaced(std::move(sql), what);
    out.push_back({name, std::move(sql)});
  }
  return out;
}

// FNV-1a, so that the SQL of a migration and the relay have the same from the name alone.
std::int32_t lock_class(const schema_name& schema) {
  std::uint32_t hash = 2166136261U;
  for (const char c : "outboxd " + schema.name()) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return static_cast<std::int32_t>(hash & 0x7FFFFFFFU);  // pg_locks shows it as an oid
}

}  // namespace outboxd::pg
