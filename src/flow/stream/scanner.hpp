// scanner: the reads of a stream other than its next events: blocking events, events that a former leader
// left, destinations that events wait for, and events that wait for the end of a pause.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "flow/stream/barriers.hpp"
#include "flow/stream/missed_rows.hpp"
#include "flow/stream/store.hpp"
#include "flow/stream/write_queue.hpp"

namespace outboxd::flow {

// Pure. Adds look-ups to a request, one page at a time, and interprets their answers.
class scanner {
 public:
  // `into`: receives the obstacles that are found. dead_hold: dead events block the later events of their
  // aggregates.
  scanner(barriers& into, bool dead_hold) : barriers_(into), dead_hold_(dead_hold) {}

  // The lead has just been acquired, and nothing is known yet. `left`: seqs of events that a former leader
  // could not settle.
  void start(std::vector<std::int64_t> left, clock::time_point now);
  // Starts again, but remembers which events a former leader left.
  void start_again(clock::time_point now);

  // ring_pauses: pauses may have changed; ring_dead: a dead event may have been retried or discarded.
  void ring_pauses() { pauses_.at = clock::time_point::min(); }
  void ring_dead(clock::time_point now);
  // Sets retry.give_up_after.
  void give_up_after(std::optional<std::chrono::milliseconds> to);
  // A pause has ended: the events that wait for its end are due.
  void resume() { resume_.wanted = true; }
  // Reads the next page of the aggregates that wait in the table.
  void scan_held() { held_.after = held_.next; }
  // All events up to `watermark` that were read as pending are settled.
  void sweep(std::int64_t watermark, clock::time_point now);

  // True if all obstacles are known, so that events may be sent; events that a former leader left may still
  // be unread.
  bool knows_barriers(clock::time_point now) const;
  bool has_left() const { return !left_.empty(); }

  // Adds the look-ups needed before the first event is sent.
  void add_to_load(store_request& to, clock::time_point now);
  // Adds look-ups while events are sent. room: the number of events for which there is memory.
  void add_to(store_request& to, int room, clock::time_point now);
  // The time of the next look-up.
  clock::time_point next(int room) const;
  clock::time_point next_to_load() const { return not_before_; }

  // Each function returns true if the answer was usable; if not, the request is repeated later.
  bool on_left(const tried<std::vector<stored_event>>& got, clock::time_point now);
  bool on_waits(const tried<waits_answer>& got, clock::time_point now);
  bool on_pauses(const tried<pauses_answer>& got, bool running, clock::time_point now);
  bool on_resumed(const tried<resumed_answer>& got, clock::time_point now);
  void on_held(const tried<held_answer>& got, aggregate after, bool running, clock::time_point now);
  void on_dead_page(const tried<dead_answer>& got, clock::time_point now);
  // Returns the seq of a row that has to be read again, if any.
  std::optional<std::int64_t> on_checked(const tried<walk_answer>& got, std::int64_t watermark);

 private:
  static constexpr aggregate first_of_all = std::numeric_limits<aggregate>::min();

  // A scan of the waiting aggregates, in order of their hashes.
  struct held {
    std::optional<aggregate> after;  // set: read the page after this one
    aggregate next = first_of_all;   // where the page after that starts
  };
  // A scan of the dead events.
  struct dead {
    std::optional<std::int64_t> after;  // set while the scan is under way
    clock::time_point begins_at = clock::time_point::max();
  };
  // A read of the pauses in force. A ring during the read causes another one.
  struct pauses {
    clock::time_point at = clock::time_point::min();
    clock::time_point known_at{};
  };
  // A scan from the start. If another scan is requested during one, the scan starts again.
  template <class Cursor>
  struct page_walk {
    bool wanted = false;
    std::optional<Cursor> after;  // set while the scan is under way

    bool pending() const { return wanted || after; }
    const std::optional<Cursor>& take(Cursor start) {
      if (std::exchange(wanted, false)) after = start;
      return after;
    }
  };

  // A repeated walk over all events that wait for a destination.
  struct waits {
    explicit waits(std::optional<std::chrono::milliseconds> to = {}) : give_up_after(to) {}

    std::optional<std::chrono::milliseconds> give_up_after;
    waits_cursor after;
    clock::time_point next{};
    bool only_reads = false;  // PostgreSQL refused to change an event of the page
    bool knows_all = false;   // the first walk has finished, so all destinations are known
  };

  void add_barriers(store_request& to, clock::time_point now);
  void begin_scan_of_dead(clock::time_point now);
  template <class Answer>
  bool is_answer(const tried<Answer>& got, clock::time_point now);

  barriers& barriers_;
  const bool dead_hold_;
  clock::time_point not_before_{};
  std::vector<std::int64_t> left_;
  held held_;
  dead dead_;
  waits waits_;
  page_walk<std::int64_t> resume_;
  pauses pauses_;
  missed_rows missed_rows_;
  std::optional<std::int64_t> check_from_;
};

}  // namespace outboxd::flow
