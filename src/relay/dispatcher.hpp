// dispatcher: sends lanes to work: one for a ring of the doorbell, the next one when the first finds plenty.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "relay/lane.hpp"

namespace outboxd::relay {

// What the dispatcher tells the world. None of these may call back into a lane.
struct dispatcher_hooks {
  std::function<clock::time_point()> now;
  std::function<void()> on_waiting;  // next_deadline() may have become earlier
  std::function<void()> on_idle;     // a lane has come to rest: all_idle() may be true
  // So long after the answer to their claim.
  std::function<void(std::size_t events, clock::duration took)> on_published;
  std::function<void(const event& which, const setback& how)> on_set_back;
  // A claim was answered; others_hold: other lanes have claimed shards. Optional.
  std::function<void(std::size_t events, bool others_hold)> on_looked = nullptr;
  std::function<bool()> looks_come = nullptr;    // ring() will be called again in a moment; optional: never
  std::function<void()> on_look_owed = nullptr;  // owed_look() has become a time; optional
};

// Pure, like the lanes.
class dispatcher final : public lane_host {
 public:
  explicit dispatcher(dispatcher_hooks hooks) : hooks_(std::move(hooks)) {}

  void add(lane& one) { lanes_.push_back(&one); }

  // Who has left shards without a look owes one after this time, if no claim comes first: it may find what was committed
  // while another relay had the writers keep silent, or whose notification was lost.
  static constexpr std::chrono::milliseconds look_owed_after{20};

  // There may be work: wakes one idle lane. With all of them busy it is remembered, for a claim that is
  // already under way may have looked too early.
  void ring();

  void stop();
  void abandon();
  bool all_idle() const;
  delivery_totals totals() const;

  std::optional<clock::time_point> next_deadline() const;
  void check_deadlines();

  // When an owed look is due, if one is owed: look_if_owed() then sees to it.
  std::optional<clock::time_point> owed_look() const { return owed_look_; }
  void look_if_owed();

  clock::time_point now() const override { return hooks_.now(); }
  void on_claim_sent(lane& from) override;
  void on_claim_answered(lane& from, std::size_t events) override;
  bool looks_come() const override;
  std::uint64_t rings() const override { return rings_; }
  void on_look_owed(lane& from) override;
  void on_more_work(lane& from) override;
  void on_idle(lane& from) override;
  void on_waiting(lane& from) override;
  void on_published(lane& from, std::size_t events, clock::duration took) override;
  void on_set_back(lane& from, const event& which, const setback& how) override;

 private:
  bool wake_one();

  dispatcher_hooks hooks_;
  std::vector<lane*> lanes_;
  std::uint64_t rings_ = 0;
  bool rung_ = false;  // since the last claim was sent
  std::optional<clock::time_point> owed_look_;
};

}  // namespace outboxd::relay
