#include "store/relay_statements.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "store/event_columns.hpp"
#include "store/text_size.hpp"

namespace outboxd::store {
namespace {

// The columns of every statement that returns events. Each text is computed once, and returned if all texts
// of the event together do not exceed $1 bytes. The size is null in that case, because the texts show it.
// Otherwise the size is exact, unless the payload exceeds $1 even before it is converted to text: then its
// stored size counts, eightfold if it is compressed. OFFSET 0 prevents the planner from computing the texts
// again for each use.
//
// The rows are selected between event_open and event_close, each with the columns of event_row.
constexpr std::string_view event_open = R"((
  SELECT e.*,
         CASE WHEN pg_column_size(e.stored_payload) > $1::bigint THEN NULL
           WHEN @payload_size@ <= $1::bigint THEN @payload_octets@ END AS payload,
         CASE WHEN pg_column_size(e.stored_payload) > $1::bigint THEN pg_column_size(e.stored_payload)::bigint
             * CASE WHEN pg_column_compression(e.stored_payload) IS NULL THEN 1 ELSE 8 END
           WHEN @payload_size@ > $1::bigint THEN @payload_size@::bigint END AS stored,
         CASE WHEN pg_column_size(e.stored_headers) > $1::bigint THEN NULL
           WHEN @headers_size@ <= $1::bigint THEN e.stored_headers::text END AS headers,
         $1::bigint + 1 AS large_headers
  FROM ()";
constexpr std::string_view event_close = R"() AS e
  OFFSET 0) AS f)";

// Like event_open, but measures the numbers of a row before converting them to text, which costs several
// times as much. Documents larger than this are not measured.
constexpr std::int64_t most_measured = 8'000'000;
constexpr std::string_view measured_open = R"((
  SELECT e.*,
         CASE WHEN m.payload <= $1::bigint THEN @payload_octets@ END AS payload,
         CASE WHEN m.payload > $1::bigint THEN m.payload END AS stored,
         CASE WHEN m.headers <= $1::bigint THEN e.stored_headers::text END AS headers,
         m.headers AS large_headers
  FROM ()";
constexpr std::string_view measured_close = R"() AS e
  CROSS JOIN LATERAL (SELECT @payload_numbers@ AS payload, @headers_numbers@ AS headers OFFSET 0) AS m
  OFFSET 0) AS f)";

constexpr std::string_view names_fit = "f.names <= $1::bigint";
constexpr std::string_view all_fits =
    "(octet_length(f.payload) + octet_length(f.headers) + f.names <= $1::bigint)";

// The columns before and after `head` in a row that is a head.
std::string no_event() {
  std::string out = "NULL";
  for (int i = 1; i < static_cast<int>(event_column::head); ++i) out += ", NULL";
  return out;
}
constexpr std::string_view no_exception = "NULL, NULL, NULL, NULL, NULL, NULL";

// True if an earlier event of the aggregate also waits. Relies on backing_off sorting before parked.
constexpr std::string_view event_behind = R"(coalesce((
         SELECT e.seq FROM @schema@.event AS e
         WHERE e.exception IN ('backing_off', 'parked') AND @hash@ = f.hash
         ORDER BY e.exception, e.seq LIMIT 1) < f.seq, false)
       OR coalesce((
         SELECT e.seq FROM @schema@.event AS e
         WHERE e.exception IN ('backing_off', 'parked') AND @hash@ = f.hash AND e.exception >= 'parked'
         ORDER BY e.exception, e.seq LIMIT 1) < f.seq, false))";

// True if an event that was read for sending has been postponed since. Events that wait for a destination or
// for the end of a pause count as due.
constexpr std::string_view is_put_off = R"((e.available_at > clock_timestamp()
       AND (e.exception = 'scheduled'
            OR e.exception = 'backing_off' AND e.waits_for IS NULL
              AND e.last_error_code IS DISTINCT FROM 'paused')) IS TRUE)";

// A digest of everything in an event that affects its message, except the aggregate, which cannot change;
// store/content_digest computes the same.
constexpr std::string_view content_digest = R"(sha256(textsend(e.event_type) || '\x00'
      || coalesce('\x01' || textsend(coalesce(e.replay_exchange, e.exchange)), '') || '\x00'
      || coalesce('\x01' || textsend(coalesce(e.replay_routing_key, e.routing_key)), '') || '\x00'
      || textsend(coalesce(e.headers, '{}')::text) || '\x00' || @payload_bytes@))";

// True if row `e` differs from what was sent, as `k` describes it: it was given up, postponed, or has other
// content. A row without a later writer does not differ. A value that is stored compressed or in more than a
// page may be huge as text, so it is not converted: a later writer suffices then.
constexpr std::string_view changed = R"((e.xmin <> k.written_by AND (
      e.status = 'dead' OR @is_put_off@
      OR CASE WHEN pg_column_size(e.payload) + coalesce(pg_column_size(e.headers), 0) > 8192
                OR pg_column_compression(e.payload) IS NOT NULL
                OR pg_column_compression(e.headers) IS NOT NULL
           THEN true ELSE @content_digest@ <> k.sent END)) IS TRUE)";

// Time until event `e` is due, in milliseconds, rounded up; null: never. PostgreSQL cannot subtract infinite
// timestamps.
constexpr std::string_view due_in = R"(CASE WHEN e.available_at < 'infinity'
    THEN ceil(extract(epoch FROM greatest(e.available_at, now()) - now()) * 1000)::bigint END)";

// Selects rows that the statement has already found, by place: `k` has their ctid as place, and their seq. In
// a partitioned outbox each partition may have a row with this ctid; the seq selects the partition.
constexpr std::string_view event_at = "e.ctid = k.place AND e.seq = k.seq AND (k.seq & 0) = 0 AND @few@";

// Selects the row from which `k` was read, at most one; see event_key in core/event.hpp. The seq selects the
// partition; `IS TRUE` prevents the planner from using the index on tx. The condition is used in a LATERAL
// subquery that cannot be flattened, for one `k` at a time: otherwise a plan made on an empty table would
// scan the whole index.
constexpr std::string_view event_key = "e.id = k.id AND e.seq = k.seq AND (e.tx = k.tx) IS TRUE";

// True if `e` is in normal processing; this includes rows inserted as waiting without an exception.
constexpr std::string_view is_pending =
    "(e.status = 'pending' OR e.status = 'waiting' AND e.exception IS NULL)";

// True if `e` belongs to shard $3; $2 is the mask. If there is only one shard, it has all events, and the
// names are not hashed.
constexpr std::string_view in_shard = "($2::bigint = 0 OR (@hash@ & $2) = $3::bigint)";

// For by_key and by_key_measured: the rows, and whether each is returned with its texts.
constexpr std::string_view row_of_key = R"(SELECT u.*
    FROM unnest($4::uuid[], $5::bigint[], $6::xid8[]) AS k(id, seq, tx)
    CROSS JOIN LATERAL (
      SELECT @event_row@
      FROM @schema@.event AS e
      WHERE @event_key@ AND e.status IN ('pending', 'waiting') AND @in_shard@
      OFFSET 0) AS u)";
constexpr std::string_view comes =
    R"(octet_length(f.payload) + octet_length(f.headers) + f.names <= $1::bigint
    AND (row_number() OVER w = 1
         OR sum(octet_length(f.payload)::bigint + octet_length(f.headers) + f.names) OVER w <= $7::bigint))";

// This condition is always true, and makes the planner estimate few rows (as does `& 0`). Otherwise a plan
// made on an empty table would look up each row in the index on seq, or scan the whole index.
constexpr std::string_view few = "k.place BETWEEN '(0,0)' AND '(4294967295,65535)'";

// The payload's bytes. Almost any type can be cast to text, so the expression also contains a cast that is
// never executed. PostgreSQL rejects that cast if the column's type has become bytea, or is no longer bytea;
// a new session then reads the type again.
std::string octets_of(payload_type payload) {
  return fmt::format(
      "(CASE WHEN false THEN {} ELSE e.stored_payload::{} END)",
      payload == payload_type::bytea ? "set_byte(e.stored_payload, 0, 0)" : "e.stored_payload::json::text",
      payload == payload_type::bytea ? "bytea" : "text");
}

using replacement = std::pair<std::string_view, std::string>;

std::string replaced(std::string text, const replacement& what) {
  for (auto at = text.find(what.first); at != std::string::npos;
       at = text.find(what.first, at + what.second.size()))
    text.replace(at, what.first.size(), what.second);
  return text;
}

}  // namespace

std::string_view relay_text(std::string_view name) {
  return std::ranges::find(statement_texts(), name, &statement_text::name)->sql;
}

std::vector<prepared> relay_statements(const pg::schema_name& schema, payload_type payload,
                                       after_publish then, open_to_all may,
                                       std::chrono::milliseconds clock_tolerance) {
  const bool may_hold_numbers = payload == payload_type::jsonb;  // the other types are stored as text
  std::vector<replacement> replacements{
      {"@event_open@", std::string(event_open)},
      {"@event_close@", std::string(event_close)},
      {"@measured_open@", std::string(measured_open)},
      {"@measured_close@", std::string(measured_close)},
      {"@row_of_key@", std::string(row_of_key)},
      {"@comes@", std::string(comes)},
      {"@event_row@", std::string(event_row)},
      {"@payload_size@", unpacked_size("e.stored_payload")},
      {"@headers_size@", unpacked_size("e.stored_headers")},
      {"@payload_numbers@",
       may_hold_numbers ? size_of_numbers("e.stored_payload", most_measured) : "0::bigint"},
      {"@headers_numbers@", size_of_numbers("e.stored_headers", most_measured)},
      {"@fetched_columns@", replaced(std::string(event_columns), {"@all_fits@", "f.comes"})},
      {"@event_columns@", std::string(event_columns)},
      {"@names_fit@", std::string(names_fit)},
      {"@all_fits@", std::string(all_fits)},
      {"@exception_columns@", std::string(exception_columns)},
      {"@no_event@", no_event()},
      {"@no_exception@", std::string(no_exception)},
      {"@due_in@", std::string(due_in)},
      {"@event_behind@", std::string(event_behind)},
      {"@is_scheduled@", is_scheduled(clock_tolerance)},
      {"@put_off@", replaced(std::string(is_put_off), {"e.", "f."})},
      {"@changed@", std::string(changed)},
      {"@is_put_off@", std::string(is_put_off)},
      {"@content_digest@", std::string(content_digest)},
      {"@payload_bytes@", payload == payload_type::bytea ? "e.payload" : "textsend(e.payload::text)"},
      {"@event_at@", std::string(event_at)},
      {"@event_key@", std::string(event_key)},
      {"@few@", std::string(few)},
      {"@is_pending@", std::string(is_pending)},
      {"@in_shard@", std::string(in_shard)},
      {"@hash@", std::string(aggregate_hash)},
      {"@payload_octets@", octets_of(payload)},
      {"@queue_usage@", may.queue_usage ? "pg_notification_queue_usage()" : "NULL::double precision"},
      {"@system_identifier@",
       may.control_system ? "(SELECT c.system_identifier FROM pg_control_system() AS c)" : "NULL::bigint"},
  };
  for (replacement& one : lock_placeholders(schema)) replacements.push_back(std::move(one));
  replacements.emplace_back("@schema@", schema.identifier());
  replacements.emplace_back("@schema_text@", schema.literal());  // last: a schema may be named @schema@
  std::vector<prepared> out;
  for (const statement_text& one : statement_texts()) {
    const bool removes = one.name.starts_with("remove");
    if (removes != (then == after_publish::remove) && (removes || one.name.starts_with("mark"))) continue;
    const std::string name =
        removes ? replaced(std::string(one.name), {"remove", "mark"}) : std::string(one.name);
    std::string sql(one.sql);
    for (const replacement& what : replacements) sql = replaced(std::move(sql), what);
    out.push_back({name, std::move(sql)});
  }
  return out;
}

// Subtracts from a future time, because an addition to created_at might exceed the range of a timestamp.
std::string is_scheduled(std::chrono::milliseconds clock_tolerance) {
  return fmt::format(
      "(CASE WHEN available_at > clock_timestamp()"
      " THEN available_at - interval '{} milliseconds' > created_at ELSE false END)",
      clock_tolerance.count());
}

// FNV-1a: the SQL of a migration and the relay compute the same value from the name alone.
std::int32_t lock_class(const pg::schema_name& schema) {
  std::uint32_t hash = 2166136261U;
  for (const char c : "outboxd " + schema.name()) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return static_cast<std::int32_t>(hash & 0x7FFFFFFFU);  // positive: pg_locks shows it as an OID
}

std::vector<std::pair<std::string_view, std::string>> lock_placeholders(const pg::schema_name& schema) {
  return {
      {"@lock_class@", std::to_string(lock_class(schema))}, {"@most_shards@", std::to_string(most_shards)},
      {"@sleep_key@", std::to_string(sleep_key)},           {"@present_key@", std::to_string(present_key)},
      {"@relay_key@", std::to_string(relay_key)},           {"@request_key@", std::to_string(request_key)}};
}

}  // namespace outboxd::store
