// stream: the events of one shard at its leader: reads the events, offers them to the lanes, and marks them.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "flow/stream/dispatcher.hpp"
#include "flow/stream/intake.hpp"
#include "flow/stream/settlement.hpp"
#include "flow/stream/stream_state.hpp"

namespace outboxd::flow {

struct saved_position {
  position at;
  std::vector<std::int64_t> unsettled;  // seqs, up to the position, of unsettled events
};

// Pure: the caller supplies time, database and broker, and nothing here blocks or throws. A stream has three
// parts: intake reads and admits events, the dispatcher offers them to the lanes and evaluates their
// outcomes, and settlement writes the outcomes into the table. This class has the phases, and sends one round
// trip at a time.
class stream final : public dispatcher::owner {
 public:
  using phase = stream_phase;
  using news = read_news;

  // tell: receives the notices. steps: receive the steps of each event.
  stream(lanes& over, stream_limits limits, observer tell, step_observers steps = {});

  // Takes effect at the next read: maximum rows and payload bytes of a read.
  void read_at_most(int rows, std::int64_t bytes) {
    state_.limits.read.batch = rows;
    state_.limits.batch_bytes = bytes;
  }
  // Takes effect at the next failure.
  void retry_by(retry_policy policy) { state_.limits.retry = std::move(policy); }
  // Also applies to events that already wait.
  void give_up_after(std::optional<std::chrono::milliseconds> to) {
    state_.limits.give_up_after = to;
    intake_.give_up_after(to);
  }
  // Applies from the next event read.
  void route_by(routing routes) {
    state_.limits.route = std::move(routes);
    // Some paused events may have another destination now.
    if (state_.blocked.paused.by_destination()) intake_.resume();
  }

  // The lead was acquired.
  void start(saved_position from, payload_type payload);
  // The server reported its time; later reads with a summary do so, too.
  void on_server_time(clock::time_point asked, timestamp told) {
    state_.server_clock.on_answer(asked, state_.now(), told);
  }
  // Stops reading and sending; drained() becomes true when everything in flight is settled.
  void drain();
  // Resumes leading after drain(), between two requests: sends and reads again, as after a takeover. Events
  // in flight or to be written are not affected.
  void go_on();
  // Stops waiting for confirms.
  void abandon();
  // Events that may be sent again if a draining stream ends now: those in flight, and those confirmed but not
  // marked.
  std::vector<event_key> in_flight() const;
  std::vector<event_key> unmarked() const;
  // Events whose mark or record has yet to be written.
  std::vector<event_key> unwritten() const;
  bool drained() const;
  // The lead was lost; clears the memory.
  void lost();

  // ring: there may be new events; ring_due: events may be due; ring_pauses: pauses may have changed; sweep:
  // check everything.
  void ring() { intake_.ring(); }
  void ring_due() { intake_.ring_due(); }
  void ring_pauses() { intake_.ring_pauses(); }
  void sweep();

  // Returns the next request for the store; null: no request is due. There is one request at a time:
  // on_answer or lost() must follow.
  shared_request next();
  clock::time_point next_at() const;
  news on_answer(store_answer answer);

  phase now_in() const { return state_.phase; }
  const unsettled& events() const { return state_.events; }
  const position& at() const { return intake_.at(); }
  // True if this event is below the position but has yet to be read.
  bool passes_over(aggregate which, std::int64_t seq) const { return intake_.passes_over(which, seq); }
  // Why a leader does not send events yet: it searches earlier rows, or still loads blocking events.
  std::optional<reader::search> searching() const {
    return state_.runs() ? intake_.searching() : std::nullopt;
  }
  // The time at which the current read was requested.
  std::optional<clock::time_point> reads_since() const {
    const bool reads = asked_ && asked_->asks_one_of<read_request, walk_request>();
    return reads ? std::optional(state_.asked_at) : std::nullopt;
  }
  std::optional<clock::time_point> loads_since() const {
    return state_.phase == phase::loading ? std::optional(loads_since_) : std::nullopt;
  }
  std::size_t held() const { return state_.blocked.aggregates(); }
  bool is_paused() const { return state_.blocked.paused.everything(); }
  // True if a lock prevents the outcomes of some events from being written.
  bool meets_lock() const { return settlement_.meets_lock(); }
  std::optional<refused_writes> refuses() const { return settlement_.refuses(); }
  bool is_sure_of_lead() const { return dispatcher_.is_sure_of_lead(); }

  void on_lanes_changed() override;
  void on_progress() override;

 private:
  void load();
  void forget_unsent();
  bool owes_proof() const;
  bool all_settled() const;
  void ask_to_save(store_request& to) const;
  template <class Question, class Answer>
  void take(const Question& asked, Answer& got, news& out);
  void on_recorded(const write_answer& got);
  template <class Which>
  std::vector<event_key> keys_of(Which which) const;

  stream_state state_;
  settlement settlement_{state_};
  dispatcher dispatcher_{state_, settlement_, *this};
  intake intake_{state_, settlement_, dispatcher_};
  shared_request asked_;  // the round trip under way
  clock::time_point loads_since_{};
  std::optional<position> saved_;
  bool save_ = false;  // save the position in the next round trip
};

}  // namespace outboxd::flow
