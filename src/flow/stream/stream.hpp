// stream: the events of one shard at its leader: read, offered to the lanes, and marked.
#pragma once

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <functional>
#include <optional>
#include <random>
#include <string>

#include "core/failure.hpp"
#include "flow/dispatch/lanes.hpp"
#include "flow/limits.hpp"
#include "flow/stream/barriers.hpp"
#include "flow/stream/laggards.hpp"
#include "flow/stream/notices.hpp"
#include "flow/stream/reader.hpp"
#include "flow/stream/scanner.hpp"
#include "flow/stream/server_clock.hpp"
#include "flow/stream/step_observer.hpp"
#include "flow/stream/waiting.hpp"

namespace outboxd::flow {

struct saved_position {
  position at;
  std::vector<std::int64_t> unsettled;  // seqs up to it of events that are not settled
};

// Pure: time, database and broker come from outside, and nothing here blocks or throws.
class stream final : public lane_client {
 public:
  enum class phase : std::uint8_t {
    idle,      // somebody else leads the shard
    loading,   // leads; loads obstacles and the rest of a former leader before it sends
    running,   // reads, sends, marks
    draining,  // gives the lead up: waits for confirms and writes the outcomes
  };

  // tell: gets the notices. steps: gets each step of each event; may be null.
  stream(lanes& over, stream_limits limits, observer tell, step_observer* steps = nullptr);

  // From the next failure on.
  void retry_by(retry_policy policy) { limits_.retry = std::move(policy); }
  // Also for events that wait already.
  void give_up_after(std::optional<std::chrono::milliseconds> to) {
    limits_.give_up_after = to;
    scanner_.give_up_after(to);
  }
  // From the next event on that is read.
  void route_by(routing routes) {
    limits_.route = std::move(routes);
    if (barriers_.paused.by_destination()) scanner_.resume();  // some may go elsewhere by them
  }

  // The lead is taken.
  void start(saved_position from, payload_type payload);
  // The server has told its time; later reads with a summary do so, too.
  void on_server_time(clock::time_point asked, timestamp told) {
    agenda_.server_clock.on_answer(asked, lanes_.now(), told);
  }
  // Reads and sends nothing more; drained() follows when all that is in flight is settled.
  void drain();
  // Continues to lead after drain(), between two requests: sends and reads again, as after a takeover. Events
  // in flight or to be written stay so.
  void go_on();
  // Waits no longer for confirms.
  void abandon();
  // If a draining stream ends now, these events may be sent again: those in flight, and those confirmed but
  // not marked.
  std::vector<event_key> in_flight() const;
  std::vector<event_key> unmarked() const;
  // Events whose mark or record is to be written.
  std::vector<event_key> unwritten() const;
  bool drained() const;
  // The lead is lost; memory is cleared.
  void lost();

  // There may be new events; there may be due ones; it is time to look at everything.
  void ring() { reader_.ring(); }
  void ring_due();
  void ring_pauses() { scanner_.ring_pauses(); }
  void sweep();

  // What to ask the store for now; null: nothing. One request at a time: on_answer or lost() follows.
  shared_request next();
  clock::time_point next_at() const;

  struct news {
    bool read = false;      // new events were looked for
    bool complete = false;  // and all that was visible has been found
    std::size_t found = 0;
    std::size_t passed = 0;               // seqs above the former position, of all shards
    std::optional<double> queue_usage{};  // how full the server's queue of notifications is, from 0 to 1
  };
  news on_answer(store_answer answer);

  phase now_in() const { return phase_; }
  const unsettled& events() const { return events_; }
  const position& at() const { return reader_.at(); }
  // Whether this event is below the position but still to be read.
  bool passes_over(aggregate which, std::int64_t seq) const { return laggards_.passes_over(which, seq); }
  // Why it does not send although it leads: it searches earlier rows, or it still loads obstacles.
  std::optional<reader::search> searching() const {
    return phase_ == phase::running ? reader_.searching() : std::nullopt;
  }
  // The read that is under way was asked for at this time.
  std::optional<clock::time_point> reads_since() const {
    const bool reads = agenda_.asked && agenda_.asked->asks_one_of<read_request, walk_request>();
    return reads ? std::optional(agenda_.asked_at) : std::nullopt;
  }
  std::optional<clock::time_point> loads_since() const {
    return phase_ == phase::loading ? std::optional(agenda_.loads_since) : std::nullopt;
  }
  std::size_t held() const { return barriers_.aggregates(); }
  bool is_paused() const { return barriers_.paused.everything(); }
  // A lock keeps it from writing the outcome of some events.
  bool meets_lock() const { return writes_.marks.meets_lock() || writes_.records.meets_lock(); }

  // PostgreSQL refuses to write the outcome of some events.
  struct refused_writes {
    std::size_t events = 0;
    clock::time_point since;
    bool all = false;  // since then it has written nothing else
    std::string reason;
  };
  std::optional<refused_writes> refuses() const;

  bool may_send() const override { return lanes_.now() < agenda_.sure_until; }
  bool is_fresh(slot which, clock::time_point now) const override;
  void on_stale(slot which, clock::time_point now) override;
  result<message> letter_of(slot which) override;
  destination target_of(slot which) const override;
  void on_sent(slot which) override { tell(step::sent, which); }
  void on_outcome(slot which, const outcome& what) override;
  void on_unencodable(slot which, std::string reason) override;
  void on_interrupted(slot which, const interruption& why, bool alone, clock::time_point up_since) override;
  void on_overdue(slot which) override;
  void on_unsent(slot which) override;
  void on_lanes_changed() override;
  void on_progress() override;

 private:
  // Statements about events in memory.
  struct writes {
    write_queue marks;
    write_queue records;
    write_queue fetches;                            // reads, in fact: of texts
    write_queue looks;                              // and these: whether rows are as they were
    std::optional<clock::time_point> written_at{};  // the latest of marks and records
    std::string refusal{};                          // the latest reason why a row is not written
    bool idle() const { return marks.idle() && records.idle(); }
  };
  // While it leads: the round trip under way, and what a later one is to do.
  struct agenda {
    shared_request asked;
    clock::time_point asked_at{};
    clock::time_point loads_since{};
    std::optional<position> saved;
    bool save = false;
    clock::time_point laggards_not_before{};  // a read of them has failed
    std::size_t found_of_laggards = 0;        // since the latest read
    clock::time_point keys_only_until{};
    clock::time_point new_ones_until{};  // they come, and do not wait
    bool behind = false;                 // the latest read has left some of them
    clock::time_point returning_rest_until{};
    clock::time_point sure_until{};  // that it has the lead still
    payload_type payload = payload_type::jsonb;
    flow::server_clock server_clock;
  };

  std::uint32_t longest_chain() const {
    return std::min(limits_.longest_chain,
                    static_cast<std::uint32_t>(lanes_.limit().worth_reading(limits_.read.batch)));
  }
  std::uint32_t share_of_laggard() const;
  bool is_full(aggregate which) const;
  std::vector<left_behind> hungry() const;
  int room() const;
  bool new_ones_come() const { return lanes_.now() < agenda_.new_ones_until; }
  int portion() const;
  int room_for_returning() const;
  void rest_returning();
  std::size_t most_marks() const;
  bool memory_is_full() const;
  std::int64_t watermark() const;
  bool may_fetch() const;
  std::size_t put_off() const;
  bool may_release() const;
  bool owes_proof() const;
  bool all_settled() const;
  void ask_to_record(store_request& to);
  void ask_to_mark(store_request& to);
  void ask_to_read(store_request& to);
  void ask_to_release(store_request& to);
  void ask_for_laggards(store_request& to);
  void ask_to_fetch(store_request& to);
  void ask_to_look(store_request& to);
  void ask_to_save(store_request& to) const;

  void read_by_keys();
  // What an answer means.
  void take(const record_request&, write_answer& got);
  void take(const mark_request&, write_answer& got);
  void take(const save_request& asked, save_answer& got);
  void take(const look_request& asked, tried<std::vector<event_key>>& got);
  void take(const fetch_request& asked, tried<std::vector<stored_event>>& got);
  void take(const walk_request&, tried<walk_answer>& got);
  news take(const read_request& asked, tried<read_answer>& got);
  void take(const check_request&, tried<walk_answer>& got);
  void take(const due_request& asked, tried<due_answer>& got);
  void take(const laggards_request&, tried<laggards_answer>& got);
  void take(const left_request&, tried<std::vector<stored_event>>& got);
  void take(const release_request& asked, tried<release_answer>& got);
  void take(const pauses_request&, tried<pauses_answer>& got);
  void take(const dead_request&, tried<dead_answer>& got);
  void take(const held_request& asked, tried<held_answer>& got);
  void take(const waits_request&, tried<waits_answer>& got);
  void take(const waiting_request& asked, tried<waiting_answer>& got);
  void take(const resume_request&, tried<resumed_answer>& got);
  void on_not_there(slot which, bool put_off);
  void on_still_withheld(slot which, std::int64_t size);
  void die_unread(slot which, std::string reason);
  boost::unordered_flat_map<aggregate, std::int64_t> lowest_to_record() const;
  std::vector<slot> slots_of(const std::vector<event_key>& keys) const;
  void say_delivered(slot which) const;
  void tell(step what, slot which) const {
    if (steps_ != nullptr && steps_->listens()) say_step(what, which);
  }
  void on_texts(slot which);
  void say_step(step what, slot which) const;
  void count_published(const std::vector<slot>& done) const;
  void say_stuck(const write_queue& what, std::string_view trouble, const std::string& reason) const;
  void say_unwritten(const write_queue& what, const std::string& reason);

  bool admit(stored_event one);
  // due_in: it is scheduled, and nobody has set it aside yet.
  void take_place(slot which, std::optional<std::chrono::milliseconds> due_in, bool parked);
  void admit_due(stored_event one);
  void on_fetched(slot which);
  void offer_next(aggregate of);
  bool is_young(const unsettled::entry& one, clock::time_point now) const;
  bool overtakes(const unsettled::entry& one) const;
  bool travels_alone(slot which) const;
  std::optional<destinations::block> find_block(slot which);
  void leave_chain(slot which);
  void forget_unsent();

  destination destination_of(slot which) const;
  destination destination_of(const event& one, const routed* route) const;
  bool is_paused(slot which) const;
  bool is_still_paused(const stored_event& one) const;
  void give_up_waiting(slot which, std::string reason);
  void fail(slot which, failure why, std::string reason);
  void try_as_first(slot which);
  void wait_unsent(slot which, const destinations::block& by);
  bool is_given_up(const stored_event& one) const;
  void wait_for_destination(slot which, destination_id for_what, failure why, std::string reason, bool sent);
  void rest(slot which);
  void drop_probe(slot which);
  destinations::sent_event seen_by_destinations(slot which) const;
  void count_attempt(slot which, failure why, std::string reason);
  void back_off(slot which, failure_record how, bool sent = true);
  void hold_back(slot which);
  void wait(slot which, failure_record how);
  void park(slot which);
  void set_aside(slot which, std::chrono::milliseconds due_in);
  bool has_gap(const unsettled::chain& of) const;
  void park_rest(aggregate of);
  void park_behind(slot which);
  void die(slot which, failure why, std::string reason);
  void dead_letter(slot which, failure_record how);
  void end_letter(slot which, std::string_view trouble);
  void leave(slot which, failure_record how);
  const failure_record& to_record(slot which) const;
  template <class Which>
  std::vector<event_key> keys_of(Which which) const;

  lanes& lanes_;
  stream_limits limits_;
  const observer tell_;
  step_observer* const steps_;

  phase phase_ = phase::idle;
  unsettled events_;
  barriers barriers_;
  reader reader_;
  laggards laggards_;
  scanner scanner_;
  waiting waiting_;
  int client_ = 0;  // its number at the lanes
  writes writes_;
  agenda agenda_;
  bool lost_over_texts_ = false;  // the latest session ended while texts were asked for
  std::uint64_t turns_ = 0;
  std::mt19937_64 chance_;
};

}  // namespace outboxd::flow
