// outbox_statements: the SQL that the relay sends, and its parameters.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/event.hpp"
#include "pg/schema_name.hpp"

namespace outboxd::pg {

// What becomes of an event that was published.
enum class after_publish {
  keep,    // it stays, with status published
  remove,  // it is deleted
};

// Names of the prepared statements.
namespace statement {
inline constexpr std::string_view begin = "begin";
inline constexpr std::string_view bulk_plan = "bulk_plan";
inline constexpr std::string_view claim = "claim";
inline constexpr std::string_view claim_few = "claim_few";
inline constexpr std::string_view claim_in_bulk = "claim_in_bulk";
inline constexpr std::string_view claim_within = "claim_within";
inline constexpr std::string_view commit = "commit";
inline constexpr std::string_view mark_published = "mark_published";
inline constexpr std::string_view release = "release";
inline constexpr std::string_view rollback = "rollback";
inline constexpr std::string_view set_back = "set_back";
inline constexpr std::string_view take_shards = "take_shards";
inline constexpr std::string_view guard = "guard";
inline constexpr std::string_view usual_plan = "usual_plan";
}  // namespace statement

struct prepared {
  std::string name;
  std::string sql;
};

// - begin: READ COMMITTED, whatever the user's default is: the claim needs a new snapshot for each of its statements.
// - take_shards($1 shards, $2 int8[] floors, empty if they are not known, $3 int8 settled, $4 int8 lowest, $5 int8 held)
//   and claim($1 events, $2 bytes of the largest): see sql/. The columns of take_shards are taken_column's, those of
//   claim are claim_column's.
// - claim_within($1 events, $2 bytes): the same as claim, with as many events as have so many bytes together, but always one.
// - claim_in_bulk($1 events, $2 bytes of the largest): see sql/; the same columns. bulk_plan has to come before it in the transaction, for
//   it may be planned again at any time, and usual_plan after it.
// - claim_few($1 events, $2 bytes of the largest, $3 int8[] floors, $4 int8 settled, $5 int8 lowest): instead of take_shards and
//   claim, see sql/. The columns of claim, then those of few_column.
// - guard: last in each claiming pipeline. It lets the server end the session, and with it the claim, when the
//   relay hangs; and as a utility statement it makes the server drop the claim's snapshot, which would hold back
//   vacuum.
// - mark_published($1 uuid[] ids, $2 tid[] places): marked as published, or deleted.
// - set_back($1 uuid[] ids, $2 text[] statuses, $3 int8[] attempts to add, $4 int8[] nacks to add,
//   $5 int8[] delays in milliseconds, $6 text[] reasons, $7 int8[] behind): a null delay or reason leaves the
//   column as it is.
// - release($1 int8[] seqs): the followers of finished events become pending, the oldest most_released of them; the
//   rest is left for release_orphans.
std::vector<prepared> lane_statements(const schema_name& schema, std::chrono::milliseconds claim_timeout,
                                      after_publish then);

inline constexpr std::string_view begin_transaction = "BEGIN ISOLATION LEVEL READ COMMITTED";

// For each new session.
std::string session_settings(std::chrono::milliseconds claim_timeout);

// The same where a session is not ours alone: for each transaction, and gone with it.
std::string transaction_settings(std::chrono::milliseconds claim_timeout);

// In text format: is it a standby, is it read-only, the process of the session.
inline constexpr std::string_view server_facts =
    "SELECT pg_is_in_recovery(), current_setting('transaction_read_only'), pg_backend_pid()";

// Columns of sweep_statement, in order.
enum class sweep_column : int {
  due,
  woken,
  queues,
  seconds_to_next,
  read_only,
  backend,
  floors,
  settled,
  mark,
  writers,
  epoch,
  searched,
  contended,
};

// What settle has found out, see sql/: in text format, and empty for null.
struct settled_knowledge {
  std::string settled;
  std::string mark;
  std::string writers;
};
std::int64_t read_settled(const settled_knowledge& from);  // -1: not known

// What a sweep has found out for the next one and for the claims, see sql/: in text format, and empty for null.
struct sweep_knowledge {
  std::string floors;
  settled_knowledge settled;
  std::string epoch;
  std::string searched;
};

// The sweep, see sql/, in text format. probe_channel: where it also sends a notification to; none if empty.
std::string sweep_statement(const schema_name& schema, int max_due, const sweep_knowledge& known = {},
                            const std::string& probe_channel = {});

// In text format: settled, mark, writers.
std::string settle_statement(const schema_name& schema, const settled_knowledge& known);

// Floors as "{1,2}", in text format: to be read, none for anything else; and to be written.
std::vector<std::int64_t> read_floors(std::string_view text);
std::string floors_literal(std::span<const std::int64_t> floors);

std::string floors_parameter(std::span<const std::int64_t> floors);  // of take_shards

// See sql/, in text format: is nobody silent any more. The sweep that relies on it follows it in the same transaction.
std::string silence_statement(const schema_name& schema);

// Rings for every relay that listens.
std::string ring_statement(const schema_name& schema);

// To have the writers keep silent, see sql/: the steps, and in text format whether this session has the lock, or
// another relay. At most `wait` long, then it fails with 55P03. The lock goes with the transaction, which mute_guard has
// to touch before `hang` is over: the server ends a session that does not.
std::vector<std::string> mute_statements(const schema_name& schema, std::chrono::milliseconds wait,
                                         std::chrono::milliseconds hang);
inline constexpr std::size_t mute_answer = 2;  // which one of them tells
std::string mute_guard(std::chrono::milliseconds hang);

// Is there a trigger that rings?
std::string trigger_statement(const schema_name& schema);

// A queue may be of any length, a statement may not.
inline constexpr int most_released = 10'000;

// See sql/, in text format: how many were released.
std::string release_orphans_statement(const schema_name& schema);

// Columns of take_shards, in order.
enum class taken_column : int {
  shards,   // int8[]
  starts,   // int8[]
  lowest,   // int8
  payload,  // null; its type is that of the payloads
};

// Columns of claim, in order.
enum class claim_column : int {
  id,
  place,
  shard,
  seq,
  aggregate_type,
  aggregate_id,
  event_type,
  payload,
  headers,
  exchange,
  routing_key,
  attempts,
  nacks,
  created_at,
  behind,
  has_followers,
};

// What claim_few has after those.
enum class few_column : int {
  floor = static_cast<int>(claim_column::has_followers) + 1,  // int8
  payload,                                                    // null; its type is that of the payloads
};

}  // namespace outboxd::pg
