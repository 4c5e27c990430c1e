// lane: one AMQP connection of the pool, with its queued messages and the messages in flight.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "flow/dispatch/broker.hpp"
#include "flow/dispatch/lane_queue.hpp"
#include "flow/dispatch/nack_tracker.hpp"
#include "flow/dispatch/sent_messages.hpp"
#include "flow/limits.hpp"

namespace outboxd::flow {

class lane final : public broker_listener {
 public:
  enum class state {
    down,      // no connection
    open,      // sends messages
    renewing,  // sends no more messages; is reconnected when nothing is in flight
    blocked,   // connected, but the broker accepts no messages at present
    dropped,   // dropped because no confirms came; on_broker_down follows
  };

  class owner {
   public:
    virtual clock::time_point now() const = 0;
    virtual void on_lane_up() = 0;
    // The lane is down, blocked or unblocked, or its channel was closed; its messages were returned.
    virtual void on_lane_changed() = 0;
    virtual void pump_and_tell() = 0;  // outcomes have arrived
    virtual void on_acknowledged(clock::duration after_sent) = 0;

   protected:
    ~owner() = default;
  };

  lane(broker& to, owner& of, const lane_limits& limits) : broker_(to), owner_(of), limits_(limits) {}

  // Also applies to messages that are already in flight.
  void adopt(const lane_limits& limits) { limits_ = limits; }

  void offer(queued_message one) { waiting_.add(one); }
  // Sends all messages that may be sent now. Call this after offers.
  void pump();
  // Sends one message; returns false if there is no message that may be sent now.
  bool send_next();
  // Returns to this lane_client its unsent messages that `which` selects.
  void withdraw(lane_client& whose, const std::function<bool(slot)>& which);
  // Drops all unsent messages of this lane_client without notifying it, and ignores the outcomes of its sent
  // messages.
  void forget(const lane_client& whose);

  state now_in() const { return state_; }
  std::size_t in_flight() const { return sent_.in_flight(); }
  // The time at which the oldest message without an outcome was sent. Time during which the broker accepted
  // no messages does not count.
  std::optional<clock::time_point> oldest_in_flight() const {
    return sent_.empty() ? std::nullopt : std::optional(sent_.oldest().at);
  }
  std::size_t waiting() const { return waiting_.size(); }

  // When to call check(): the time at which a confirm, or room for another message, is overdue.
  std::optional<clock::time_point> deadline() const;
  void check();

  void on_broker_up() override;
  void on_outcomes(std::span<const outcome> outcomes) override;
  void on_channel_closed(std::span<const token> unknown, const refusal& why) override;
  void on_writable() override {
    told_full_ = false;
    owner_.pump_and_tell();
  }
  void on_blocked(bool blocked) override;
  void on_broker_down(const interruption& why) override;

 private:
  void note_refusal(const queued_message& what, verdict said);
  void renew_if_refused();
  void give_back(const interruption& why, bool alone);
  clock::time_point late_at(const sent_messages::sent& one) const;
  clock::time_point first_late_at() const;
  clock::duration silence_limit() const;

  broker& broker_;
  owner& owner_;
  lane_limits limits_;
  state state_ = state::down;
  lane_queue waiting_;
  sent_messages sent_;
  clock::time_point latest_outcome_{};
  clock::time_point up_since_{};
  nack_tracker nacks_;
  int silent_ends_ = 0;  // consecutive connections that were dropped because no confirms came
  clock::time_point renewing_until_{};
  std::optional<clock::time_point> full_since_;
  bool told_full_ = false;  // publish() returned full, and on_writable has not followed
};

}  // namespace outboxd::flow
