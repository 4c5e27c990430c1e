// store: the requests of a stream to PostgreSQL in one round trip, and the answers. Each question type names
// the type of its answer.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/event.hpp"
#include "flow/dispatch/destination.hpp"
#include "flow/identity.hpp"
#include "flow/stream/failure_record.hpp"
#include "flow/stream/pauses.hpp"
#include "flow/stream/position.hpp"
#include "flow/stream/stored_event.hpp"

namespace outboxd::flow {

enum class read_result : std::uint8_t {
  done,
  deferred,
  refused,
  too_dear,  // the statement took too much time or memory; fewer rows, or rows without texts, may succeed
};

template <class Answer>
struct tried {
  read_result result = read_result::done;
  bool may_pass = false;  // refused, but may succeed later, for example after a disk fault
  std::string reason;     // set unless done; quotes no row
  Answer answer;

  // For requests that return texts: true if the rows may be readable without texts.
  bool wants_keys_only() const { return result == read_result::refused || result == read_result::too_dear; }
};

enum class write_result : std::uint8_t {
  done,
  missed,    // by_place: some rows have moved or are deleted; unknown which
  deferred,  // a lock, a full disk or a deadlock: retry the same request later
  refused,   // PostgreSQL will never write one of these rows
};

struct write_answer {
  write_result result = write_result::done;
  // done, unlocked or failures: events that are still unfinished because their rows are locked
  std::vector<event_key> left;
  std::string reason;  // for deferred and refused; quotes no row
  // done, marks by key: published events whose rows were changed after they were sent
  std::vector<event_key> changed{};
};

struct record_request {
  using answer = write_answer;
  std::vector<failure_record> failures;
};

enum class mark_mode : std::uint8_t {
  by_place,  // by the ctid that was read: the cheapest way, but misses rows that have moved
  by_key,
  unlocked,  // by key, skipping locked rows
};

// The content as sent. The views are valid until the answer.
struct sent_content {
  std::uint32_t written_by = 0;
  std::string_view event_type;
  std::string_view payload;
  std::string_view headers;
  std::optional<std::string_view> exchange;
  std::optional<std::string_view> routing_key;
};

struct mark_request {
  using answer = write_answer;
  std::vector<event_key> keys;
  std::vector<row_place> places;  // by_place: one per key; lowest and highest are the bounds of their seqs
  std::int64_t lowest = 0;
  std::int64_t highest = 0;
  mark_mode mode = mark_mode::by_place;
  std::vector<sent_content> sent{};  // by key: one per key
};

struct save_answer {
  bool saved = false;
};

struct save_request {
  using answer = save_answer;
  position at;
  std::vector<std::int64_t> unsettled{};  // seqs, up to the position, of unsettled events
};

// Identifies a version of a row. The row is unchanged if its place and its last writer are the same.
struct row_version {
  event_key key;
  row_place place;
  std::uint32_t written_by = 0;
};

struct look_request {
  using answer = tried<std::vector<event_key>>;  // the rows that are unchanged
  std::vector<row_version> rows;
};

// Fetches the texts of withheld events: of the first, and of as many others as fit into the answer. The rest
// are returned withheld, with their sizes.
struct fetch_request {
  using answer = tried<std::vector<stored_event>>;
  std::vector<event_key> keys;
  bool measured = false;  // queries the sizes first
};

struct walk_answer {
  std::int64_t walked_to = position::before_all;  // no visible pending row up to here
  bool met = false;                               // the next row is pending
  bool more = false;                              // there are more rows, which were not checked
};

// Looks for the first pending row above a seq, in a limited number of rows.
struct walk_request {
  using answer = tried<walk_answer>;
  std::int64_t from = 0;
};

struct read_answer {
  snapshot now;                          // cut off where (c) ended
  xid xmax = 0;                          // before the snapshot was cut off
  bool saw_all = false;                  // (c) was read completely; otherwise (a) was not read
  std::optional<std::int64_t> top;       // the highest visible seq above the position
  std::int64_t late = 0;                 // number of rows of (b) and (c)
  std::optional<std::int64_t> late_low;  // their lowest seq
  std::vector<stored_event> rows;        // in seq order; empty if late exceeds the requested number
  // With the summary: the time until an event is due, nullopt if none ever is; whether an aggregate blocks
  // events; the server's time; and the usage of the server's notification queue, from 0 to 1.
  std::optional<std::chrono::milliseconds> next_due = std::chrono::milliseconds(0);
  bool holds = true;
  std::optional<timestamp> server_time;
  std::optional<double> queue_usage{};
};

// Areas (a), (b) and (c) of docs/design.md, "The position", in one statement.
struct read_request {
  using answer = tried<read_answer>;
  position from;
  std::int64_t seq_limit = 0;  // the last seq of (a)
  int events = 0;              // maximum rows
  bool with_summary = false;   // also returns what is due and what waits
};

// A walk over rows that were already read.
struct check_request {
  using answer = tried<walk_answer>;
  std::int64_t from = 0;
};

struct due_cursor {
  timestamp at = timestamp::min();
  std::int64_t seq = position::before_all;
  bool operator==(const due_cursor&) const = default;
};

struct due_answer {
  std::vector<stored_event> rows;                 // waiting and due, by available_at
  due_cursor last;                                // position of the last row
  std::optional<std::chrono::milliseconds> next;  // time until another row is due
};

struct due_request {
  using answer = tried<due_answer>;
  due_cursor after;
  int events = 0;  // maximum rows
};

// A laggard, whose events up to `after` have been read.
struct left_behind {
  aggregate which = 0;
  std::int64_t after = 0;
};

struct laggards_answer {
  std::vector<stored_event> rows;  // pending rows, in seq order
  // For each laggard, the seq up to which it was read; nullopt: to its end.
  std::vector<std::pair<aggregate, std::optional<std::int64_t>>> looked_to;
};

// Executed after the read, so that it sees everything that the read saw and skipped.
struct laggards_request {
  using answer = tried<laggards_answer>;
  std::vector<left_behind> of;
  std::int64_t seq_span = 0;  // range of seqs searched per laggard and read
  int events = 0;             // maximum rows per laggard
};

// Pending rows with these seqs, which a former leader left unsettled below its position.
struct left_request {
  using answer = tried<std::vector<stored_event>>;
  std::vector<std::int64_t> seqs;
};

struct release_answer {
  std::vector<stored_event> rows;    // parked rows, in seq order within each aggregate
  std::vector<aggregate> backs_off;  // one of their events backs off; parked rows not read
  std::vector<aggregate> more;       // these aggregates have more parked rows than were returned
};

struct release_request {
  using answer = tried<release_answer>;
  std::vector<aggregate> of;
  int events = 0;  // maximum parked rows per aggregate
};

// The pauses in force, and when the first of them ends by itself.
struct pauses_answer {
  std::vector<pause> in_force;
  std::optional<std::chrono::milliseconds> next_end;
};

struct pauses_request {
  using answer = tried<pauses_answer>;
};

struct dead_answer {
  std::vector<aggregate> of;
  std::optional<std::int64_t> upto;  // rows after this seq were not read; nullopt: all were read
};

// A page of the aggregates that have dead events.
struct dead_request {
  using answer = tried<dead_answer>;
  std::int64_t after = 0;  // seq
};

// An aggregate with blocked events.
struct held_aggregate {
  aggregate which = 0;
  bool head_waits = false;  // one of its events backs off; otherwise it has only parked ones
};

struct held_answer {
  std::vector<held_aggregate> rows;  // in ascending order
  std::optional<aggregate> upto;     // there may be more after this one; nullopt: this was the last page
};

// One page of the waiting aggregates, in order of their hashes.
struct held_request {
  using answer = tried<held_answer>;
  aggregate after = 0;
};

// A cursor into the events that wait for destinations, in order of destination and seq.
struct waits_cursor {
  destination_id of{std::numeric_limits<std::int64_t>::min()};
  std::int64_t seq = position::before_all;
  bool operator==(const waits_cursor&) const = default;
};

struct waits_answer {
  std::vector<destination_id> found;  // destinations of this shard's waiting events, each once
  std::optional<waits_cursor> upto;   // rows after this cursor were not read
};

// Reads one page of the events that wait for destinations, and returns these destinations. If an event was
// recorded with another value of retry.give_up_after, its deadline is adjusted, unless `only_reads`.
struct failing_destinations_request {
  using answer = tried<waits_answer>;
  waits_cursor after;
  std::optional<std::chrono::milliseconds> give_up_after;
  bool only_reads = false;
};

// Events that wait for these destinations: for each, the first ones after a seq, in seq order.
struct waiting_answer {
  std::vector<stored_event> rows;
};

struct waiting_events_request {
  using answer = tried<waiting_answer>;
  struct look_up {
    destination_id of{};
    std::int64_t after = position::before_all;
    int events = 1;    // maximum rows
    bool all = false;  // the destination works again; otherwise the only row returned is its probe
  };
  std::vector<look_up> of;
};

struct resumed_answer {
  std::vector<stored_event> rows;    // in seq order
  std::optional<std::int64_t> upto;  // rows after this seq were not read
};

// Reads events that wait for a pause that has ended. The store uses the pauses that the stream knows, not
// those in force: otherwise, a pause that starts and ends unnoticed would leave events behind.
struct resume_request {
  using answer = tried<resumed_answer>;
  std::int64_t after = 0;  // seq
  int events = 0;          // maximum rows to check
  std::vector<pause> paused;
};

// The order of these types is the order of execution. Writes, which may fail because of a lock, come before
// all questions that return rows: if the relay hangs and does not read these rows, PostgreSQL could not end
// the session while it tries to send an error after them (postgres.c holds off interrupts at that time).
using store_question =
    std::variant<record_request, mark_request, save_request, failing_destinations_request, look_request,
                 fetch_request, walk_request, read_request, check_request, due_request, laggards_request,
                 left_request, release_request, pauses_request, dead_request, held_request, resume_request,
                 waiting_events_request>;

// The questions of one round trip, at most one of each kind.
struct store_request {
  bool keys_only = false;  // return rows without texts, because reading the texts of some row has failed
  std::vector<aggregate> passing_over{};  // area (a) and walks skip the events of these aggregates
  std::vector<store_question> questions{};

  // Inserts the question in the order of execution.
  void add(store_question one) {
    const auto at = std::ranges::upper_bound(questions, one.index(), {}, &store_question::index);
    questions.insert(at, std::move(one));
  }
  // Returns null if the request has no such question.
  template <class Question>
  const Question* find() const {
    for (const store_question& one : questions)
      if (const auto* const found = std::get_if<Question>(&one)) return found;
    return nullptr;
  }
  template <class... Question>
  bool asks_one_of() const {
    return ((find<Question>() != nullptr) || ...);
  }
  // True if it returns texts of rows whose size is not known.
  bool makes_texts() const {
    const auto* const fetch = find<fetch_request>();
    return (fetch != nullptr && !fetch->measured) ||
           (!keys_only && asks_one_of<read_request, due_request, laggards_request, resume_request,
                                      left_request, release_request, waiting_events_request>());
  }
  // True if the answer shows whether reads and marks work. Other requests may succeed while the table is
  // locked.
  bool reads_or_writes_events() const {
    return asks_one_of<record_request, mark_request, read_request, due_request>();
  }
};
// The stream keeps the request until its answer.
using shared_request = std::shared_ptr<const store_request>;

using store_reply =
    std::variant<write_answer, save_answer, tried<std::vector<event_key>>, tried<std::vector<stored_event>>,
                 tried<walk_answer>, tried<read_answer>, tried<due_answer>, tried<laggards_answer>,
                 tried<release_answer>, tried<pauses_answer>, tried<dead_answer>, tried<held_answer>,
                 tried<waits_answer>, tried<resumed_answer>, tried<waiting_answer>>;

// One reply per question, in the same order.
struct store_answer {
  std::vector<store_reply> replies;

  // Why a read or write of events was deferred; empty if none was.
  std::string_view deferral() const;
};

}  // namespace outboxd::flow
