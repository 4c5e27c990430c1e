#include "flow/dispatch/lanes.hpp"

#include <algorithm>

namespace outboxd::flow {

int lanes::join(lane_client& one) {
  auto place = std::ranges::find(clients_, &one);
  if (place == clients_.end()) place = std::ranges::find(clients_, nullptr);
  if (place == clients_.end()) place = clients_.insert(place, nullptr);
  *place = &one;
  return static_cast<int>(place - clients_.begin());
}

void lanes::leave(lane_client& one) {
  for (lane* each : all_) each->forget(one);
  const auto place = std::ranges::find(clients_, &one);
  if (place == clients_.end()) return;
  *place = nullptr;
  known_.leave(static_cast<int>(place - clients_.begin()));
}

void lanes::withdraw(lane_client& one) {
  for (lane* each : all_) each->withdraw(one, [](slot) { return true; });
}

void lanes::withdraw(lane_client& one, int lane, const std::function<bool(slot)>& which) {
  all_[static_cast<std::size_t>(lane)]->withdraw(one, which);
}

std::optional<int> lanes::offer(const queued_message& what, aggregate of, int stays_on) {
  const auto count = all_.size();
  // Use the upper bits, because the lower bits choose the shard.
  const auto home = static_cast<std::size_t>((static_cast<std::uint64_t>(of) >> 32U) % count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = stays_on >= 0 ? static_cast<std::size_t>(stays_on) : (home + i) % count;
    if (all_[at]->now_in() == lane::state::down) {
      if (stays_on >= 0) return std::nullopt;
      continue;
    }
    all_[at]->offer(what);
    return static_cast<int>(at);
  }
  return std::nullopt;
}

void lanes::pump() {
  if (limit_.is_set())
    pump_within_rate();
  else
    for (lane* one : all_) one->pump();
  if (deadline_changed_) deadline_changed_();
}

void lanes::limit_to(rate_limit limit) {
  limit_ = limit;
  next_pump_.reset();
  pump();
}

// Sends one message per lane in turn, so that the first lane does not use up the rate limit.
void lanes::pump_within_rate() {
  next_pump_.reset();
  for (std::size_t idle = 0; idle < all_.size();) {
    if (!limit_.allows(now_())) {
      next_pump_ = limit_.ask_again_at(now_());
      return;
    }
    turn_ = (turn_ + 1) % all_.size();
    if (!all_[turn_]->send_next()) {
      ++idle;
      continue;
    }
    idle = 0;
    limit_.count(now_());
  }
}

bool lanes::any_up() const {
  return std::any_of(all_.begin(), all_.end(),
                     [](const lane* one) { return one->now_in() != lane::state::down; });
}

std::size_t lanes::in_flight() const {
  std::size_t sum = 0;
  for (const lane* one : all_) sum += one->in_flight();
  return sum;
}

std::size_t lanes::count(lane::state in) const {
  return static_cast<std::size_t>(
      std::count_if(all_.begin(), all_.end(), [in](const lane* one) { return one->now_in() == in; }));
}

std::optional<clock::time_point> lanes::oldest_in_flight() const {
  std::optional<clock::time_point> out;
  for (const lane* one : all_)
    if (const auto sent = one->oldest_in_flight(); sent && (!out || *sent < *out)) out = sent;
  return out;
}

std::optional<clock::time_point> lanes::next_deadline() const {
  std::optional<clock::time_point> earliest;
  for (const lane* one : all_)
    if (const auto due = one->deadline(); due && (!earliest || *due < *earliest)) earliest = due;
  return earliest;
}

void lanes::check_deadlines() {
  for (lane* one : all_) one->check();
}

void lanes::on_lane_up() {
  known_.on_lane_up(now_());
  on_lane_changed();
}

void lanes::on_lane_changed() {
  tell_clients([](lane_client& one) { one.on_lanes_changed(); });
  pump_and_tell();
}

void lanes::pump_and_tell() {
  pump();
  tell_clients([](lane_client& one) { one.on_progress(); });
}

}  // namespace outboxd::flow
