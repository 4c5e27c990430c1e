// store: what a stream asks of PostgreSQL in one round trip, and the answers. Each question is a type beside
// that of its answer.
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
  too_dear,  // it took too long or too much memory; fewer rows, or rows without texts, may work
};

template <class Answer>
struct tried {
  read_result result = read_result::done;
  bool may_pass = false;  // refused, but may succeed later, such as after a disk fault
  std::string reason;     // of all but done; quotes no row
  Answer answer;

  // For rows with texts: they may be readable without them.
  bool wants_keys_only() const { return result == read_result::refused || result == read_result::too_dear; }
};

enum class write_result : std::uint8_t {
  done,
  missed,    // by_place: some rows have moved or are gone; which ones is not known
  deferred,  // a lock, a full disk, a deadlock: the same again later
  refused,   // PostgreSQL will not write one of these rows, however often it is asked
};

struct write_answer {
  write_result result = write_result::done;
  // done, unlocked or failures: events still unfinished because their rows are locked
  std::vector<event_key> left;
  std::string reason;  // of deferred and refused; quotes no row
  // done, marks by key: published events whose rows were changed after they were sent
  std::vector<event_key> changed{};
};

struct record_request {
  using answer = write_answer;
  std::vector<failure_record> failures;
};

enum class mark_mode : std::uint8_t {
  by_place,  // by the ctid that was read: cheapest, but misses rows that have moved
  by_key,
  unlocked,  // by key, without locked rows
};

// The content that was sent. The views are valid until the answer.
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
  std::vector<row_place> places;  // by_place: of each; and so are these, the bounds of their seqs
  std::int64_t lowest = 0;
  std::int64_t highest = 0;
  mark_mode mode = mark_mode::by_place;
  std::vector<sent_content> sent{};  // by key: of each
};

struct save_answer {
  bool saved = false;
};

struct save_request {
  using answer = save_answer;
  position at;
  std::vector<std::int64_t> unsettled{};  // seqs up to it of events that are not settled
};

// A row as it was read. It is unchanged if its place and its last writer are the same.
struct row_version {
  event_key key;
  row_place place;
  std::uint32_t written_by = 0;
};

struct look_request {
  using answer = tried<std::vector<event_key>>;  // the unchanged ones
  std::vector<row_version> rows;
};

// Texts of withheld events: of the first, and of as many others as fit into memory. The rest come withheld,
// with their size.
struct fetch_request {
  using answer = tried<std::vector<stored_event>>;
  std::vector<event_key> keys;
  bool measured = false;  // their sizes are asked first
};

struct walk_answer {
  std::int64_t walked_to = position::before_all;  // no pending row up to here that was visible
  bool met = false;                               // the next row is pending
  bool more = false;                              // there are rows beyond that were not looked at
};

// Where the first pending row above a seq is, looking at a bounded number of rows.
struct walk_request {
  using answer = tried<walk_answer>;
  std::int64_t from = 0;
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

// (a), (b) and (c) of docs/design.md, "The position", in one statement.
struct read_request {
  using answer = tried<read_answer>;
  position from;
  std::int64_t seq_limit = 0;  // how far (a) goes
  int events = 0;              // most rows
  bool with_summary = false;   // also tells what is due and what waits
};

// A walk over what has been read.
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
  due_cursor last;                                // of the rows
  std::optional<std::chrono::milliseconds> next;  // until another one is due
};

struct due_request {
  using answer = tried<due_answer>;
  due_cursor after;
  int events = 0;  // most rows
};

// A laggard: its events up to this seq have been read.
struct left_behind {
  aggregate which = 0;
  std::int64_t after = 0;
};

struct laggards_answer {
  std::vector<stored_event> rows;  // pending ones, in seq order
  // For each: the seq up to which it was read; nullopt: there is no more.
  std::vector<std::pair<aggregate, std::optional<std::int64_t>>> looked_to;
};

// Runs after the read, so that it sees everything that the read has seen and left out.
struct laggards_request {
  using answer = tried<laggards_answer>;
  std::vector<left_behind> of;
  std::int64_t seq_span = 0;  // how far each is looked for in one read
  int events = 0;             // most rows of each
};

// Pending rows with one of these seqs, which a former leader has left unsettled up to its position.
struct left_request {
  using answer = tried<std::vector<stored_event>>;
  std::vector<std::int64_t> seqs;
};

struct release_answer {
  std::vector<stored_event> rows;    // parked ones, in seq order within each aggregate
  std::vector<aggregate> backs_off;  // these still have an event that backs off, so nothing was looked for
  std::vector<aggregate> more;       // these have more parked rows than came
};

struct release_request {
  using answer = tried<release_answer>;
  std::vector<aggregate> of;
  int events = 0;  // most parked rows of each
};

// What is paused, and when the first of these pauses ends by itself.
struct pauses_answer {
  std::vector<pause> in_force;
  std::optional<std::chrono::milliseconds> next_end;
};

struct pauses_request {
  using answer = tried<pauses_answer>;
};

struct dead_answer {
  std::vector<aggregate> of;
  std::optional<std::int64_t> upto;  // there may be more after this seq
};

// A page of the aggregates with dead events.
struct dead_request {
  using answer = tried<dead_answer>;
  std::int64_t after = 0;  // this seq
};

// An aggregate with blocked events.
struct held_aggregate {
  aggregate which = 0;
  bool head_waits = false;  // one of its events backs off; else only parked ones are left
};

struct held_answer {
  std::vector<held_aggregate> rows;  // in their order
  std::optional<aggregate> upto;     // there may be more after this one; nothing: that was the last page
};

// A page of the aggregates that wait, in their order.
struct held_request {
  using answer = tried<held_answer>;
  aggregate after = 0;
};

// A place among the events that wait for destinations, which are in the order of these.
struct waits_cursor {
  destination_id of{std::numeric_limits<std::int64_t>::min()};
  std::int64_t seq = position::before_all;
  bool operator==(const waits_cursor&) const = default;
};

struct waits_answer {
  std::vector<destination_id> found;  // of this shard's events, each once
  std::optional<waits_cursor> upto;   // there may be more after this one
};

// A page of the events that wait for destinations: which destinations those are. An event for which
// retry.give_up_after was another time gets its new one, unless `only_reads`.
struct waits_request {
  using answer = tried<waits_answer>;
  waits_cursor after;
  std::optional<std::chrono::milliseconds> give_up_after;
  bool only_reads = false;
};

// Events that wait for these destinations: for each, the first ones after a seq, in seq order.
struct waiting_answer {
  std::vector<stored_event> rows;
};

struct waiting_request {
  using answer = tried<waiting_answer>;
  struct look_up {
    destination_id of{};
    std::int64_t after = position::before_all;
    int events = 1;    // most rows
    bool all = false;  // it works again; else the one is its probe
  };
  std::vector<look_up> of;
};

struct resumed_answer {
  std::vector<stored_event> rows;    // in seq order
  std::optional<std::int64_t> upto;  // there may be more after this seq
};

// Events that wait for a pause that has ended. The store uses the pauses that the stream knows, not those in
// force: otherwise, a pause that begins and ends unnoticed would leave events behind.
struct resume_request {
  using answer = tried<resumed_answer>;
  std::int64_t after = 0;  // this seq
  int events = 0;          // most rows to look at
  std::vector<pause> paused;
};

// In the order of execution. Writes may fail because of a lock, and come before all questions that return
// rows: if the relay hangs and does not read the rows, PostgreSQL cannot be told to end the session while it
// sends an error behind them (postgres.c holds interrupts off meanwhile).
using store_question = std::variant<record_request, mark_request, save_request, waits_request, look_request,
                                    fetch_request, walk_request, read_request, check_request, due_request,
                                    laggards_request, left_request, release_request, pauses_request,
                                    dead_request, held_request, resume_request, waiting_request>;

// The questions of one round trip, at most one of each kind.
struct store_request {
  bool keys_only = false;  // rows come without texts, because reading texts has failed for some row
  std::vector<aggregate> passing_over{};  // (a) of the read, and walks, skip events of these
  std::vector<store_question> questions{};

  // Puts it into its place.
  void add(store_question one) {
    const auto at = std::ranges::upper_bound(questions, one.index(), {}, &store_question::index);
    questions.insert(at, std::move(one));
  }
  // Null if that is not asked.
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
  // For rows whose size is not known.
  bool makes_texts() const {
    const auto* const fetch = find<fetch_request>();
    return (fetch != nullptr && !fetch->measured) ||
           (!keys_only && asks_one_of<read_request, due_request, laggards_request, resume_request,
                                      left_request, release_request, waiting_request>());
  }
  // Whether its answer shows that reads and marks succeed; other questions may succeed while the table is
  // locked.
  bool reads_or_writes_events() const {
    return asks_one_of<record_request, mark_request, read_request, due_request>();
  }
};
// A stream keeps it until its answer.
using shared_request = std::shared_ptr<const store_request>;

using store_reply =
    std::variant<write_answer, save_answer, tried<std::vector<event_key>>, tried<std::vector<stored_event>>,
                 tried<walk_answer>, tried<read_answer>, tried<due_answer>, tried<laggards_answer>,
                 tried<release_answer>, tried<pauses_answer>, tried<dead_answer>, tried<held_answer>,
                 tried<waits_answer>, tried<resumed_answer>, tried<waiting_answer>>;

// Of each question, in their order.
struct store_answer {
  std::vector<store_reply> replies;

  // Why some part of what reads_or_writes_events was put off, or empty.
  std::string_view deferral() const;
};

}  // namespace outboxd::flow
