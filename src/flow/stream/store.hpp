// store: what a stream asks of PostgreSQL in one round trip, and the answers.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/event.hpp"
#include "flow/dispatch/excuse.hpp"
#include "flow/identity.hpp"
#include "flow/stream/pauses.hpp"
#include "flow/stream/position.hpp"

namespace outboxd::flow {

// How an event left the ordinary way from pending to published; the column `exception`.
enum class exception : std::uint8_t {
  none,
  scheduled,    // waiting until available_at; holds nobody back
  backing_off,  // waiting until available_at after a failure; holds back its aggregate
  parked,       // waiting behind an earlier event of its aggregate; no due time of its own
  dead,
};

// A row as it was read. The views of `what` point into `storage`.
struct stored_event {
  event what;
  exception from = exception::none;
  // On its ordinary way, and scheduled: it is to be set aside.
  std::optional<std::chrono::milliseconds> due_in = {};
  bool withheld = false;  // too large to come along: its texts have to be fetched
  bool suspect = false;   // its last failure was that the broker closed a channel or a connection over it
  excuse excused = excuse::none;
  bool earlier_waits = false;  // due: an earlier event of its aggregate backs off or is parked
  bool put_off = false;        // fetched: it is to be sent later by now
  std::int64_t size = 0;       // bytes of its texts; estimated while they are withheld
  std::shared_ptr<const void> storage;
};

// (a), (b) and (c) of docs/design.md, "The position", in one statement.
struct read_request {
  position from;
  std::int64_t seq_limit = 0;  // how far (a) goes
  int events = 0;              // most rows
  bool with_summary = false;   // also tells what is due and what waits
};

struct read_answer {
  snapshot now;                          // cut at where (c) ended
  xid xmax = 0;                          // before it was cut
  bool saw_all = false;                  // (c) went up to now; else (a) is not looked at
  std::optional<std::int64_t> top;       // the highest visible seq above the position
  std::int64_t late = 0;                 // rows of (b) and (c)
  std::optional<std::int64_t> late_low;  // their lowest seq
  std::vector<stored_event> rows;        // in seq order; none if late is more than was asked for
  // With the summary: until an event is due, if any ever is, whether some aggregate holds back events, the
  // time, and how full the server's queue of notifications is, from 0 to 1.
  std::optional<std::chrono::milliseconds> next_due = std::chrono::milliseconds(0);
  bool holds = true;
  std::optional<timestamp> server_time;
  std::optional<double> queue_usage{};
};

// Where the first pending row above a seq is, looking at a bounded number of rows.
struct walk_answer {
  std::int64_t walked_to = position::before_all;  // no pending row up to here that was visible
  bool met = false;                               // the next row is pending
  bool more = false;                              // there are rows beyond that were not looked at
};

struct due_cursor {
  timestamp at = timestamp::min();
  std::int64_t seq = position::before_all;
  bool operator==(const due_cursor&) const = default;
};

struct due_answer {
  std::vector<stored_event> rows;                 // waiting and due, by available_at
  due_cursor last;                                // of the rows
  std::optional<std::chrono::milliseconds> next;  // until another one is due
};

// An aggregate that holds back its later events.
struct blocked_aggregate {
  aggregate which = 0;
  bool head_waits = false;  // one of its events backs off; else only parked ones are left
};

struct blocked_answer {
  std::vector<blocked_aggregate> rows;  // in their order
  std::optional<aggregate> upto;        // there may be more after this one; nothing: that was the last page
};

// After a destination works again.
struct recall_answer {
  std::optional<due_cursor> upto;  // there may be more after this one
};

// What is paused, and when the first of these pauses ends by itself.
struct pauses_answer {
  std::vector<pause> in_force;
  std::optional<std::chrono::milliseconds> next_end;
};

// What waits for the end of a pause that has ended. The store goes by the pauses that the stream knows, not
// by those that are in force: one that comes and goes before the stream knows of it would leave events
// behind.
struct resume_request {
  std::int64_t after = 0;  // this seq
  int events = 0;          // most rows to look at
  std::vector<pause> paused;
};

struct resumed_answer {
  std::vector<stored_event> rows;    // in seq order
  std::optional<std::int64_t> upto;  // there may be more after this seq
};

// Aggregates with dead events.
struct dead_answer {
  std::vector<aggregate> of;
  std::optional<std::int64_t> upto;  // there may be more after this seq
};

struct release_answer {
  std::vector<stored_event> rows;    // parked ones, in seq order within each aggregate
  std::vector<aggregate> backs_off;  // these still have an event that backs off: nothing was looked for
  std::vector<aggregate> more;       // these have more parked rows than came
};

// An aggregate that the stream goes on without: its events up to this seq have been read.
struct left_behind {
  aggregate which = 0;
  std::int64_t after = 0;
};

struct laggards_request {
  std::vector<left_behind> of;
  std::int64_t seq_span = 0;  // how far each is looked for in one read
  int events = 0;             // most rows of each
};

struct laggards_answer {
  std::vector<stored_event> rows;  // pending ones, in seq order
  // Of each: up to where all of it has come; nothing: there is no more.
  std::vector<std::pair<aggregate, std::optional<std::int64_t>>> looked_to;
};

// A row as it was read. It is still that one if it lies where it lay, and the same transaction has written it
// last.
struct row_version {
  event_key key;
  row_place place;
  std::uint32_t written_by = 0;
};

// What becomes of an event that was not published.
// What of its destination a failure is about; the column `last_error_scope`.
enum class failure_scope : std::uint8_t {
  routing_key,  // the exchange with the routing key
  exchange,
  topic,  // the right to write to the exchange with the routing key
};

struct failure_record {
  event_key key;
  exception to = exception::backing_off;  // any but none
  bool counts_attempt = false;
  bool counts_deferral = false;
  // backing_off: nothing is until its pause ends. scheduled: the row has its time, this one is for who waits.
  std::optional<std::chrono::milliseconds> delay = std::chrono::milliseconds(0);
  std::string code;  // empty: last_error, its code and its scope stay as they are
  std::string reason;
  failure_scope scope = failure_scope::routing_key;
};

enum class mark_mode : std::uint8_t {
  by_place,  // by the ctid that was read: cheapest, and misses rows that have moved
  by_key,
  unlocked,  // by key, without those that somebody has locked
};

// What of a row was sent. The views are valid until the answer.
struct sent_content {
  std::uint32_t written_by = 0;
  std::string_view event_type;
  std::string_view payload;
  std::string_view headers;
  std::optional<std::string_view> exchange;
  std::optional<std::string_view> routing_key;
};

struct mark_request {
  std::vector<event_key> keys;
  std::vector<row_place> places;  // by_place: of each; and so are these, the bounds of their seqs
  std::int64_t lowest = 0;
  std::int64_t highest = 0;
  mark_mode mode = mark_mode::by_place;
  std::vector<sent_content> sent{};  // by key: of each
};

enum class write_result : std::uint8_t {
  done,
  missed,    // by_place: some rows were not there any more; nothing is known of which
  deferred,  // a lock, a full disk, a deadlock: the same again later
  refused,   // PostgreSQL will not write one of these rows, however often it is asked
};

struct write_answer {
  write_result result = write_result::done;
  // done, unlocked or failures: still unfinished, because somebody has locked them
  std::vector<event_key> left;
  std::string reason;  // of deferred and refused; quotes no row
  // done, marks by key: published, and their rows say something else than what was sent
  std::vector<event_key> changed{};
};

enum class read_result : std::uint8_t {
  done,
  deferred,
  refused,
  too_dear,  // it took too long or too much memory: with fewer rows, or without their texts, it may be done
};

// Everything that one round trip does, in this order. What is not set is not done.
struct store_request {
  bool keys_only = false;  // rows come with their texts withheld: to read them has failed for some row
  std::vector<failure_record> failures;
  mark_request marks;
  std::optional<position> save;
  std::vector<std::int64_t> save_unsettled;  // with save: seqs up to it of events that are not settled
  std::optional<read_request> read;
  std::optional<std::int64_t> walk_from;
  std::vector<aggregate> passing_over;     // (a) of the read, and walks, leave out events of these
  std::optional<std::int64_t> check_from;  // a walk over what has been read
  std::optional<due_cursor> due;           // after this one
  int due_events = 0;
  // After the read, so that it sees all that the read has seen and left out.
  std::optional<laggards_request> laggards;
  std::vector<row_version> looks;  // which of these rows are as they were
  // Texts of withheld events, of the first one and of as many others as fit into memory; the others come
  // withheld, with their size.
  std::vector<event_key> fetch;
  // It is asked first how large they would be.
  bool fetch_is_measured = false;
  // Seqs of what a former leader has left unsettled up to its position: pending rows with one of these.
  std::vector<std::int64_t> left;
  std::vector<aggregate> release;  // parked rows of these
  int release_events = 0;          // of each
  // What waits because of its destination, after this one, becomes due.
  std::optional<due_cursor> recall_after;
  bool pauses = false;  // what is paused
  std::optional<resume_request> resume;
  std::optional<std::int64_t> dead_after;  // a page of the dead events, after this seq
  std::optional<aggregate>
      blocked_after;  // a page of the aggregates that wait, in their order, after this one

  // Of rows of which it is not known how large they would be.
  bool makes_texts() const {
    return (!fetch.empty() && !fetch_is_measured) ||
           (!keys_only && (read || due || laggards || resume || !left.empty() || !release.empty()));
  }
  // Whether its answer tells if reads and marks get through: the rest may, while the table is locked.
  bool reads_or_writes_events() const { return !failures.empty() || !marks.keys.empty() || read || due; }
};

template <class Answer>
struct tried {
  read_result result = read_result::done;
  bool may_pass = false;  // refused: a disk that cannot be read may be well again
  std::string reason;     // of all but done; quotes no row
  Answer answer;

  // Of rows with their texts: they may be read without them.
  bool wants_keys_only() const { return result == read_result::refused || result == read_result::too_dear; }
};

struct store_answer {
  write_answer failures;
  write_answer marks;
  bool saved = false;
  tried<read_answer> read;
  tried<walk_answer> walk;
  tried<walk_answer> checked;
  tried<due_answer> due;
  tried<laggards_answer> laggards;
  tried<std::vector<event_key>> looked;  // those that are
  tried<std::vector<stored_event>> fetched;
  tried<std::vector<stored_event>> left;
  tried<release_answer> released;
  tried<blocked_answer> blocked;
  tried<recall_answer> recalled;
  tried<pauses_answer> pauses;
  tried<resumed_answer> resumed;
  tried<dead_answer> dead;

  // Why some part of what reads_or_writes_events was put off, or empty.
  std::string_view deferral() const {
    for (const write_answer* one : {&failures, &marks})
      if (one->result == write_result::deferred) return one->reason;
    if (read.result == read_result::deferred) return read.reason;
    if (due.result == read_result::deferred) return due.reason;
    return {};
  }
};

}  // namespace outboxd::flow
