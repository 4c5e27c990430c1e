#include "relay/dispatcher.hpp"

#include <algorithm>

namespace outboxd::relay {

bool dispatcher::wake_one() {
  return std::any_of(lanes_.begin(), lanes_.end(), [](lane* one) { return one->wake(); });
}

void dispatcher::ring() {
  ++rings_;
  if (!wake_one()) rung_ = true;
}

// A claim that is sent after the ring sees what the ring was about.
void dispatcher::on_claim_sent(lane&) {
  rung_ = false;
  owed_look_.reset();
}

void dispatcher::on_look_owed(lane&) {
  if (owed_look_) return;
  owed_look_ = hooks_.now() + look_owed_after;
  if (hooks_.on_look_owed) hooks_.on_look_owed();
}

void dispatcher::look_if_owed() {
  if (!owed_look_ || hooks_.now() < *owed_look_) return;
  owed_look_.reset();
  ring();
}

void dispatcher::on_claim_answered(lane& from, std::size_t events) {
  if (!hooks_.on_looked) return;
  hooks_.on_looked(events, std::any_of(lanes_.begin(), lanes_.end(),
                                       [&](const lane* one) { return one != &from && one->holds(); }));
}

bool dispatcher::looks_come() const {
  return !rung_ && hooks_.looks_come && hooks_.looks_come();
}

void dispatcher::on_more_work(lane&) {
  wake_one();
}

void dispatcher::on_idle(lane& from) {
  if (rung_) from.wake();
  if (from.idle()) hooks_.on_idle();
}

void dispatcher::on_waiting(lane&) {
  hooks_.on_waiting();
}

void dispatcher::on_published(lane&, std::size_t events, clock::duration took) {
  hooks_.on_published(events, took);
}

void dispatcher::on_set_back(lane&, const event& which, const setback& how) {
  hooks_.on_set_back(which, how);
}

void dispatcher::stop() {
  for (lane* one : lanes_) one->stop();
}

void dispatcher::abandon() {
  for (lane* one : lanes_) one->abandon();
}

bool dispatcher::all_idle() const {
  return std::all_of(lanes_.begin(), lanes_.end(), [](const lane* one) { return one->idle(); });
}

delivery_totals dispatcher::totals() const {
  delivery_totals sum;
  for (const lane* one : lanes_) sum += one->totals();
  return sum;
}

std::optional<clock::time_point> dispatcher::next_deadline() const {
  std::optional<clock::time_point> earliest;
  for (const lane* one : lanes_) {
    const auto due = one->deadline();
    if (due && (!earliest || *due < *earliest)) earliest = due;
  }
  return earliest;
}

void dispatcher::check_deadlines() {
  for (lane* one : lanes_) one->check();
}

}  // namespace outboxd::relay
