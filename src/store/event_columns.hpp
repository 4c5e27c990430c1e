// event_columns: the columns of an event in the table and in answers. relay_statements inserts this SQL into
// statements; event_rows reads the answers.
#pragma once

#include <string_view>

namespace outboxd::store {

// The columns read from `e`, a row of the table. They are listed by name, because users may add columns.
inline constexpr std::string_view event_row =
    R"(e.ctid AS place, e.xmin AS written_by, e.id, e.seq, e.tx, @hash@ AS hash, e.created_at,
    coalesce(e.available_at, e.created_at) AS available_at, e.attempts, e.exception,
    e.last_error_code, e.waits_for, e.first_failed_at,
    e.aggregate_type, e.aggregate_id, e.event_type, e.payload AS stored_payload,
    coalesce(e.headers, '{}') AS stored_headers,
    coalesce(e.replay_exchange, e.exchange) AS exchange,
    coalesce(e.replay_routing_key, e.routing_key) AS routing_key,
    octet_length(e.aggregate_type)::bigint + octet_length(e.aggregate_id) + octet_length(e.event_type)
      + coalesce(octet_length(coalesce(e.replay_exchange, e.exchange)), 0)
      + coalesce(octet_length(coalesce(e.replay_routing_key, e.routing_key)), 0) AS names)";

// The columns of an event in an answer. A count of 0, the usual case, is returned as null, which costs almost
// nothing.
inline constexpr std::string_view event_columns = R"(f.id, f.place, f.seq, f.tx, f.hash, f.created_at,
  CASE WHEN @names_fit@ THEN f.aggregate_type END, CASE WHEN @names_fit@ THEN f.aggregate_id END,
  CASE WHEN @names_fit@ THEN f.event_type END,
  CASE WHEN @all_fits@ THEN f.payload END, CASE WHEN @all_fits@ THEN f.headers END,
  CASE WHEN @names_fit@ THEN f.exchange END, CASE WHEN @names_fit@ THEN f.routing_key END,
  CASE WHEN @all_fits@ IS NOT TRUE
    THEN coalesce(coalesce(octet_length(f.payload), f.stored)
                  + coalesce(octet_length(f.headers), f.large_headers) + f.names, -1) END,
  nullif(f.attempts, 0)::bigint,
  CASE WHEN f.exception IS NULL AND @is_scheduled@
    THEN CASE WHEN f.available_at < 'infinity'
           THEN ceil(extract(epoch FROM f.available_at - clock_timestamp()) * 1000)::bigint
           ELSE 9223372036854775807 END END,
  CASE WHEN f.written_by <> xid(f.tx) THEN f.written_by::text END)";

// Additional columns of an event that has an exception; event_behind or false follows them.
inline constexpr std::string_view exception_columns =
    "f.exception::text, f.last_error_code, f.waits_for, f.first_failed_at, f.available_at";

// The columns of every statement that returns events, in order.
enum class event_column : int {
  id,
  place,
  seq,
  tx,
  hash,
  created_at,
  aggregate_type,  // null if the texts are withheld, as are all other texts
  aggregate_id,
  event_type,
  payload,
  headers,
  exchange,
  routing_key,
  size,      // size of the texts, if they exceed $1 together and are therefore withheld; -1: payload or
             // headers are NULL in the table; otherwise null
  attempts,  // null means 0
  due_in,    // for a pending scheduled event: milliseconds until it is due; otherwise null
  // In rows without an id, which come first: other results of the statement, as a JSON object. In events: the
  // transaction that last wrote the row, without its epoch, if that is not the one that inserted it.
  head,
  // In all statements except `read`, whose events have no exception:
  exception,
  failure,          // code of the last failure
  waits_for,        // null: the event waits for no destination
  first_failed_at,  // null: the event has not failed
  available_at,
  behind,  // in `due`, `resumed` and `waiting`; in `by_key`: whether the event was put off
};

}  // namespace outboxd::store
