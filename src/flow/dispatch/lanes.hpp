// lanes: the pool of AMQP connections; chooses the connection for the events of an aggregate.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "core/histogram.hpp"
#include "flow/dispatch/destinations.hpp"
#include "flow/dispatch/lane.hpp"
#include "flow/dispatch/rate_limit.hpp"
#include "flow/identity.hpp"

namespace outboxd::flow {

class lanes final : public lane::owner {
 public:
  // deadline_changed: next_deadline() or next_pump() may have become earlier.
  lanes(std::function<clock::time_point()> now, std::function<void()> deadline_changed,
        class destinations known, rate_limit limit = rate_limit())
      : now_(std::move(now)),
        deadline_changed_(std::move(deadline_changed)),
        known_(std::move(known)),
        limit_(limit) {}

  void add(lane& one) { all_.push_back(&one); }
  // Adds a stream that has begun to lead a shard, or removes one that has ceased to lead. join returns the
  // stream's number, which is below 64.
  int join(lane_client& one);
  void leave(lane_client& one);
  // Returns to this stream its unsent messages; the stream still receives the outcomes of sent messages.
  void withdraw(lane_client& one);
  // Returns to this stream the unsent messages on this lane that `which` selects.
  void withdraw(lane_client& one, int lane, const std::function<bool(slot)>& which);

  // The hash of an aggregate chooses the lane for its events; if that lane is down, they use the next one.
  // Returns the lane, or nullopt if no lane is up. `stays_on`: the lane on which earlier events of the
  // aggregate are, or -1.
  std::optional<int> offer(const queued_message& what, aggregate of, int stays_on);

  // Sends all messages that may be sent now. Call this after offers.
  void pump();
  // The time at which to call pump() again, if the rate limit delays messages.
  std::optional<clock::time_point> next_pump() const { return next_pump_; }
  const rate_limit& limit() const { return limit_; }
  // Changes the rate limit. Messages that the previous limit delayed may be sent at once.
  void limit_to(rate_limit limit);

  // True if at least one lane is connected.
  bool any_up() const;
  std::size_t in_flight() const;
  std::size_t count(lane::state in) const;
  // The time at which the oldest message without an outcome was sent.
  std::optional<clock::time_point> oldest_in_flight() const;

  // The failing destinations.
  class destinations& destinations() {
    return known_;
  }
  const class destinations& destinations() const { return known_; }

  std::optional<clock::time_point> next_deadline() const;
  void check_deadlines();

  clock::time_point now() const override { return now_(); }
  void on_lane_up() override;
  void on_lane_changed() override;
  void pump_and_tell() override;
  void on_acknowledged(clock::duration after_sent) override { publish_times_.add(after_sent); }

  // The time from each publish to its confirm.
  const histogram& publish_times() const { return publish_times_; }

 private:
  template <class What>
  void tell_clients(What what) const {
    for (lane_client* one : clients_)
      if (one != nullptr) what(*one);
  }
  void pump_within_rate();

  std::function<clock::time_point()> now_;
  std::function<void()> deadline_changed_;
  class destinations known_;
  rate_limit limit_;
  std::optional<clock::time_point> next_pump_;
  std::size_t turn_ = 0;  // the lane that sent last
  std::vector<lane*> all_;
  std::vector<lane_client*> clients_;  // by number; null: the number is free
  histogram publish_times_;
};

}  // namespace outboxd::flow
