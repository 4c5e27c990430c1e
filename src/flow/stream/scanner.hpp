// scanner: look-ups of a stream beside its next events: what holds events back, what a former leader has
// left, which destinations events wait for, and which events wait for the end of a pause.
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

// Pure. The look-ups of a request, a page at a time, and the meaning of their answers.
class scanner {
 public:
  // `into` learns what is found. dead_hold: dead events hold back the later ones of their aggregates.
  scanner(barriers& into, bool dead_hold) : barriers_(into), dead_hold_(dead_hold) {}

  // The lead has just been taken, and nothing is known. `left`: seqs of events that a former leader could not
  // settle.
  void start(std::vector<std::int64_t> left, clock::time_point now);
  // The same, but for what is known to be left or due.
  void start_again(clock::time_point now);

  // Pauses may have changed; a dead event may have been retried or discarded.
  void ring_pauses() { pauses_.at = clock::time_point::min(); }
  void ring_dead(clock::time_point now);
  // retry.give_up_after, from now on.
  void give_up_after(std::optional<std::chrono::milliseconds> to);
  // A pause has ended: the events that wait for its end are due.
  void resume() { resume_.wanted = true; }
  // Aggregates wait in the table: the next page of them is looked at.
  void scan_held() { held_.after = held_.next; }
  // All events up to the watermark that were read as pending are settled.
  void sweep(std::int64_t watermark, clock::time_point now);

  // All obstacles of events are known, so that events may be sent; events left by a former leader are not
  // read yet.
  bool knows_barriers(clock::time_point now) const;
  bool has_left() const { return !left_.empty(); }

  // Adds what is to be looked for before the first send.
  void add_to_load(store_request& to, clock::time_point now);
  // Adds what is to be looked for while events are sent. room: for so many more events.
  void add_to(store_request& to, int room, clock::time_point now);
  // When there may be something to add.
  clock::time_point next(int room) const;
  clock::time_point next_to_load() const { return not_before_; }

  // Each returns whether the answer was usable; if not, the question is asked again later.
  bool on_left(const tried<std::vector<stored_event>>& got, clock::time_point now);
  bool on_waits(const tried<waits_answer>& got, clock::time_point now);
  bool on_pauses(const tried<pauses_answer>& got, bool running, clock::time_point now);
  bool on_resumed(const tried<resumed_answer>& got, clock::time_point now);
  void on_held(const tried<held_answer>& got, aggregate after, bool running, clock::time_point now);
  void on_dead_page(const tried<dead_answer>& got, clock::time_point now);
  // The seq of a row to be read again, if there is one.
  std::optional<std::int64_t> on_checked(const tried<walk_answer>& got, std::int64_t watermark);

 private:
  static constexpr aggregate first_of_all = std::numeric_limits<aggregate>::min();

  // A scan of the aggregates that wait, in their order.
  struct held {
    std::optional<aggregate> after;  // a page is wanted
    aggregate next = first_of_all;   // where the one after that begins
  };
  // A scan of the dead events.
  struct dead {
    std::optional<std::int64_t> after;  // it is under way
    clock::time_point begins_at = clock::time_point::max();
  };
  // A read of what is paused. A ring while it is under way asks for another one.
  struct pauses {
    clock::time_point at = clock::time_point::min();
    clock::time_point known_at{};
  };
  // A scan from the start on. One that becomes wanted while it is under way begins anew.
  template <class Cursor>
  struct page_walk {
    bool wanted = false;
    std::optional<Cursor> after;  // it is under way

    bool pending() const { return wanted || after; }
    const std::optional<Cursor>& take(Cursor start) {
      if (std::exchange(wanted, false)) after = start;
      return after;
    }
  };

  // A walk over all that waits for a destination, again and again.
  struct waits {
    explicit waits(std::optional<std::chrono::milliseconds> to = {}) : give_up_after(to) {}

    std::optional<std::chrono::milliseconds> give_up_after;
    waits_cursor after;
    clock::time_point next{};
    bool only_reads = false;  // PostgreSQL has refused to change an event of the page
    bool knows_all = false;   // the first one has come to its end
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
