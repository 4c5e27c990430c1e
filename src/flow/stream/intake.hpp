// intake: decides what a stream reads next, and how much, and adds the events read to their chains.
#pragma once

#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "flow/stream/dispatcher.hpp"
#include "flow/stream/laggards.hpp"
#include "flow/stream/reader.hpp"
#include "flow/stream/scanner.hpp"
#include "flow/stream/stream_state.hpp"
#include "flow/stream/waiting.hpp"

namespace outboxd::flow {

// The result of a read of new events.
struct read_news {
  bool read = false;      // new events were looked for
  bool complete = false;  // all visible events were found
  std::size_t found = 0;
  std::size_t passed = 0;               // number of seqs above the former position, of all shards
  std::optional<double> queue_usage{};  // usage of the server's notification queue, from 0 to 1
};

class intake {
 public:
  intake(stream_state& in, const settlement& out, dispatcher& to);

  // The lead was acquired. left: seqs of events that a former leader could not settle.
  void start(position from, std::vector<std::int64_t> left);
  // Starts again, but remembers which events a former leader left.
  void start_again();
  // The lead was lost. over_texts: the request under way read texts; the server may have had too little
  // memory for them.
  void lost(bool over_texts);
  // Unsent events were removed from memory; `lowest`: the lowest seq of those that are pending.
  void on_forgotten(std::optional<std::int64_t> lowest);

  void ring() { reader_.ring(); }
  void ring_due();
  void ring_pauses() { scanner_.ring_pauses(); }
  void sweep();
  void resume() { scanner_.resume(); }
  void give_up_after(std::optional<std::chrono::milliseconds> to) { scanner_.give_up_after(to); }

  // Add the reads that are needed before the first event is sent, and those that follow.
  void ask_to_load(store_request& to);
  void ask(store_request& to);
  clock::time_point next_to_load() const { return scanner_.next_to_load(); }
  clock::time_point next() const;
  // True if all obstacles are known, and all events that a former leader left have been read.
  bool has_loaded() const { return scanner_.knows_barriers(state_.now()) && !scanner_.has_left(); }

  // Each overload processes one answer.
  read_news take(const read_request& asked, tried<read_answer>& got);
  void take(const look_request& asked, tried<std::vector<event_key>>& got);
  void take(const fetch_request& asked, tried<std::vector<stored_event>>& got);
  void take(const walk_request&, tried<walk_answer>& got);
  void take(const check_request&, tried<walk_answer>& got);
  void take(const due_request& asked, tried<due_answer>& got);
  void take(const laggards_request&, tried<laggards_answer>& got);
  void take(const left_request&, tried<std::vector<stored_event>>& got);
  void take(const release_request& asked, tried<release_answer>& got);
  void take(const dead_request&, tried<dead_answer>& got);
  void take(const held_request& asked, tried<held_answer>& got);
  void take(const failing_destinations_request&, tried<waits_answer>& got);
  void take(const waiting_events_request& asked, tried<waiting_answer>& got);
  void take(const resume_request&, tried<resumed_answer>& got);
  // Returns true if the paused parts of the outbox have changed.
  bool take(const pauses_request&, tried<pauses_answer>& got);
  // The event now waits in the table, as described by `how`.
  void on_recorded(slot which, const failure_record& how);
  // Called if the last round trip had returning events.
  void pause_returning();

  const position& at() const { return reader_.at(); }
  // The lowest seq that was skipped and has yet to be read.
  std::optional<std::int64_t> lowest_passed_over() const { return laggards_.lowest(); }
  bool passes_over(aggregate which, std::int64_t seq) const { return laggards_.passes_over(which, seq); }
  std::optional<reader::search> searching() const { return reader_.searching(); }
  // Maximum marks per statement.
  std::size_t most_marks() const;

 private:
  // Valid while this relay leads.
  struct pace {
    clock::time_point keys_only_until{};
    clock::time_point new_ones_until{};  // until then, new events have priority, because more of them are
                                         // expected
    bool behind = false;                 // the last read did not find all new events
    clock::time_point returning_rest_until{};
    clock::time_point laggards_not_before{};  // a read of laggards has failed
    std::size_t found_of_laggards = 0;        // events of laggards found since the last read
  };

  std::uint32_t longest_chain() const;
  std::uint32_t share_of_laggard() const;
  bool is_full(aggregate which) const;
  std::vector<left_behind> hungry() const;
  std::int64_t watermark() const;
  bool memory_is_full() const;
  bool new_ones_come() const { return state_.now() < pace_.new_ones_until; }
  int room() const;
  int portion() const;
  int room_for_returning() const;
  bool may_fetch() const;
  bool may_release() const;

  void ask_to_release(store_request& to);
  void ask_for_laggards(store_request& to);
  void ask_to_fetch(store_request& to);
  void ask_to_look(store_request& to);
  void read_by_keys();

  bool admit(stored_event one);
  void admit_due(stored_event one);
  // due_in: set if the event is scheduled and its row does not say so yet.
  void take_place(slot which, std::optional<std::chrono::milliseconds> due_in, bool parked);
  void stamp_and_route(slot which);
  void on_still_withheld(slot which, std::int64_t size);
  void die_unread(slot which, std::string reason);
  bool is_still_paused(const stored_event& one) const;

  stream_state& state_;
  unsettled& events_;
  barriers& barriers_;
  lanes& lanes_;
  const stream_limits& limits_;
  const settlement& settlement_;
  dispatcher& dispatcher_;
  write_queue& fetches_;
  write_queue& looks_;
  reader reader_;
  laggards laggards_;
  scanner scanner_;
  waiting waiting_;
  pace pace_;
  bool lost_over_texts_ = false;  // the last session ended during a request for texts
};

}  // namespace outboxd::flow
