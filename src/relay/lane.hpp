// lane: claims a batch, publishes it, settles it, and again while there is work.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <random>

#include "relay/broker.hpp"
#include "relay/delivery.hpp"
#include "relay/outbox.hpp"

namespace outboxd::relay {

class lane;

using clock = std::chrono::steady_clock;

// What a lane tells the relay.
class lane_host {
 public:
  virtual clock::time_point now() const = 0;
  virtual void on_claim_sent(lane& from) = 0;
  // The answer to a claim: how many events it has found.
  virtual void on_claim_answered(lane&, std::size_t) {}
  // Lanes will be sent to look again in a moment, whatever happens.
  virtual bool looks_come() const { return false; }
  // How often there has been reason to look so far.
  virtual std::uint64_t rings() const = 0;
  // The lane has left its shards and not looked again. What came to them unheard of meanwhile is nobody's: somebody has to
  // look in a while, unless a claim is sent before.
  virtual void on_look_owed(lane& from) = 0;
  // There is more work than this lane has just claimed.
  virtual void on_more_work(lane& from) = 0;
  // No transaction is open and nothing is under way.
  virtual void on_idle(lane& from) = 0;
  // The lane has begun to wait: see deadline().
  virtual void on_waiting(lane& from) = 0;
  // Events of a batch are marked, so long after the answer to its claim.
  virtual void on_published(lane& from, std::size_t events, clock::duration took) = 0;
  virtual void on_set_back(lane& from, const event& which, const setback& how) = 0;

 protected:
  ~lane_host() = default;
};

struct lane_settings {
  std::size_t batch = 500;
  delivery_settings delivery;
  std::chrono::milliseconds claim_timeout{30'000};
  std::chrono::milliseconds confirm_timeout{10'000};  // at most half of claim_timeout
  std::chrono::milliseconds successor_window{
      100};                // how long a batch goes on for long queues of one aggregate
  std::uint64_t seed = 1;  // of the retries' jitter
};

// Pure: time, database and broker come from outside, and nothing here blocks or throws.
class lane final : public outbox_listener, public broker_listener {
 public:
  lane(outbox& from, broker& to, lane_host& host, lane_settings settings)
      : outbox_(from), broker_(to), host_(host), settings_(std::move(settings)), chance_(settings_.seed) {}

  // Looks for work if there is nothing under way. False: busy, not connected, or stopping.
  bool wake();

  // No new claims and no new sends; what is sent may still be confirmed. on_idle follows unless idle()
  // already.
  void stop();

  // Waits no longer for confirms: settles what is known and gives the rest back.
  void abandon();

  bool idle() const { return state_ == state::idle; }
  // It has claimed events, and their shards with them.
  bool holds() const { return state_ == state::publishing || state_ == state::settling; }
  // Of all batches that have ended.
  const delivery_totals& totals() const { return totals_; }
  bool ready() const { return outbox_up_ && broker_up_ && !blocked_ && !stopping_; }

  // When check() wants to be called, while the lane waits for the broker.
  std::optional<clock::time_point> deadline() const;
  void check();

  void on_outbox_up() override;
  void on_claimed(batch claimed) override;
  void on_released() override;
  void on_outbox_down() override;

  void on_broker_up() override;
  void on_outcomes(std::span<const outcome> outcomes) override;
  void on_channel_closed(std::span<const token> unknown, std::string_view reason) override;
  void on_writable() override;
  void on_blocked(bool blocked) override;
  void on_broker_down() override;

 private:
  enum class state { idle, claiming, publishing, settling };

  bool light() const;
  bool calm() const;
  void before_claim();
  void begin(batch claimed);
  void pump();
  void settle();
  void end_delivery();
  void on_settled();
  void become_idle();

  outbox& outbox_;
  broker& broker_;
  lane_host& host_;
  lane_settings settings_;

  state state_ = state::idle;
  bool outbox_up_ = false;
  bool broker_up_ = false;
  bool blocked_ = false;
  bool stopping_ = false;

  delivery delivery_;
  delivery_totals totals_;
  std::mt19937_64 chance_;
  bool plenty_ = false;         // the last claim has left something, or its batch did
  bool complete_ = false;       // the last claim is known to have had all there was
  std::uint64_t rings_ = 0;     // when it was sent
  bool look_can_wait_ = false;  // settling: for that reason without a claim
  std::size_t settling_ = 0;    // of them, those that the settle under way marks published
  std::uint32_t generation_ = 0;
  bool closed_ = false;  // nothing more of this batch is sent
  clock::time_point claimed_at_;
  clock::time_point send_until_;
  clock::time_point settle_by_;
  clock::time_point successors_until_;
  clock::time_point last_progress_;
};

}  // namespace outboxd::relay
