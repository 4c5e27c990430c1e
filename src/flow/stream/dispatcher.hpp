// dispatcher: decides which events in memory are sent next, and how each outcome affects its event.
#pragma once

#include <optional>
#include <random>
#include <string>
#include <string_view>

#include "flow/stream/settlement.hpp"
#include "flow/stream/stream_state.hpp"

namespace outboxd::flow {

class dispatcher final : public lane_client {
 public:
  class owner {
   public:
    virtual void on_lanes_changed() = 0;
    virtual void on_progress() = 0;

   protected:
    ~owner() = default;
  };

  dispatcher(stream_state& in, settlement& into, owner& of)
      : state_(in),
        events_(in.events),
        barriers_(in.blocked),
        lanes_(in.pool),
        limits_(in.limits),
        settlement_(into),
        owner_(of),
        chance_(in.limits.seed) {}

  // The lead was acquired.
  void start(payload_type payload);
  // A reply from the server confirms the lead up to this time; nothing is sent after it.
  void trust_lead_until(clock::time_point until) { sure_until_ = until; }
  // Withdraws messages that are queued in the lanes; sent messages still get their outcomes.
  void withdraw() { lanes_.withdraw(*this); }
  // Stops waiting for outcomes: events in flight count as unsent.
  void abandon();
  // Removes unsent events from memory; their rows do not change. Returns the lowest seq of those that are
  // pending in the table.
  std::optional<std::int64_t> forget_unsent();
  void clear();

  // Offers the next events of this chain to a lane; in strict order, only the first.
  void offer_next(aggregate of);
  void offer_all();
  // Parks the event behind an earlier event of its aggregate.
  void park(slot which);
  // Records that the event is scheduled for later.
  void set_aside(slot which, std::chrono::milliseconds due_in);
  void die(slot which, failure why, std::string reason);
  void on_recorded_dead(slot which);

  // Events whose texts must be fetched, and events whose rows may have changed. For each, on_fetched, on_gone
  // or die is called.
  write_queue& fetches() { return fetches_; }
  const write_queue& fetches() const { return fetches_; }
  write_queue& looks() { return looks_; }
  const write_queue& looks() const { return looks_; }
  void on_fetched(slot which);
  // The row was deleted, or must not be sent any more. put_off: an operator has postponed the retry, and the
  // event still blocks its aggregate.
  void on_gone(slot which, bool put_off);

  bool is_sure_of_lead() const override { return state_.now() < sure_until_; }
  bool is_fresh(slot which, clock::time_point now) const override;
  void on_stale(slot which, clock::time_point now) override;
  result<message> message_of(slot which) override;
  destination target_of(slot which) const override { return state_.target_of(which); }
  void on_sent(slot which) override { state_.trace(step::sent, which); }
  void on_outcome(slot which, const outcome& what, clock::time_point sent_at) override;
  void on_unencodable(slot which, std::string reason) override;
  void on_interrupted(slot which, const interruption& why, bool alone, clock::time_point up_since) override;
  void on_overdue(slot which) override;
  void on_unsent(slot which) override;
  void on_lanes_changed() override { owner_.on_lanes_changed(); }
  void on_progress() override { owner_.on_progress(); }

 private:
  bool travels_alone(slot which) const;
  std::optional<destinations::block> find_block(slot which);
  bool is_young(const unsettled::entry& one, clock::time_point now) const;
  bool overtakes(const unsettled::entry& one) const;
  destinations::sent_event seen_by_destinations(slot which) const;
  void drop_probe(slot which);
  void say_delivered(slot which) const;

  void fail(slot which, failure why, std::string reason);
  void give_up_waiting(slot which, std::string reason);
  void try_as_first(slot which);
  void count_attempt(slot which, failure why, std::string reason);
  bool is_given_up(const stored_event& one) const;
  void wait_for_blocked(slot which, const destinations::block& by);
  void wait_for_destination(slot which, destination_id for_what, failure why, std::string reason, bool sent);
  void end_letter(slot which, std::string_view trouble);
  void dead_letter(slot which, failure_record how);

  void leave_unrecorded(slot which);
  void report_and_wait(slot which, failure_record how, bool sent = true);
  void wait_for_pause_end(slot which);
  void record_and_hold(slot which, failure_record how);
  void leave_memory(slot which, failure_record how);
  bool has_gap(const unsettled::chain& of) const;
  // Parks the unsent events behind the one that failed.
  void park_others(aggregate of);
  void park_behind(slot which);

  stream_state& state_;
  unsettled& events_;
  barriers& barriers_;
  lanes& lanes_;
  const stream_limits& limits_;
  settlement& settlement_;
  owner& owner_;
  write_queue fetches_{write_limits{}};
  write_queue looks_{write_limits{}};
  payload_type payload_ = payload_type::jsonb;
  clock::time_point sure_until_{};
  std::uint64_t turns_ = 0;
  std::mt19937_64 chance_;
};

}  // namespace outboxd::flow
