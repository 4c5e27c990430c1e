#include "flow/lanes.hpp"

#include <algorithm>

namespace outboxd::flow {

void lanes::leave(shipper& one) {
  for (lane* each : all_) each->forget(one);
  std::erase(shippers_, &one);
}

void lanes::withdraw(shipper& one) {
  for (lane* each : all_) each->withdraw(one);
}

std::optional<int> lanes::offer(shipper& whose, slot which, aggregate of, bool alone, int stays_on) {
  const auto count = all_.size();
  // The lower bits choose the shard.
  const auto home = static_cast<std::size_t>((static_cast<std::uint64_t>(of) >> 32U) % count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = stays_on >= 0 ? static_cast<std::size_t>(stays_on) : (home + i) % count;
    if (all_[at]->now_in() == lane::state::down) {
      if (stays_on >= 0) return std::nullopt;
      continue;
    }
    all_[at]->offer({&whose, which, alone});
    return static_cast<int>(at);
  }
  return std::nullopt;
}

void lanes::pump() {
  for (lane* one : all_) one->pump();
  if (deadline_changed_) deadline_changed_();
}

bool lanes::any_up() const {
  return std::any_of(all_.begin(), all_.end(),
                     [](const lane* one) { return one->now_in() != lane::state::down; });
}

bool lanes::any_open() const {
  return std::any_of(all_.begin(), all_.end(),
                     [](const lane* one) { return one->now_in() == lane::state::open; });
}

std::size_t lanes::in_flight() const {
  std::size_t sum = 0;
  for (const lane* one : all_) sum += one->in_flight();
  return sum;
}

void lanes::on_delivered(const destination& to) {
  if (!known_.on_delivered(to, now_())) return;
  for (shipper* one : shippers_) one->on_destination_up();
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

void lanes::on_lane_changed() {
  for (shipper* one : shippers_) one->on_lanes_changed();
  on_lane_progress();
}

void lanes::on_lane_progress() {
  pump();
  for (shipper* one : shippers_) one->on_progress();
}

}  // namespace outboxd::flow
