#include "flow/destinations.hpp"

#include <algorithm>
#include <utility>

namespace outboxd::flow {
namespace {

using namespace std::chrono_literals;

// One failure may be the event's own. Two in a row, and nothing confirmed between them, are not.
constexpr int failures_in_a_row = 2;

// Events that wait are tried again so many a second, all of a destination together.
constexpr std::int64_t tried_per_second = 100;
constexpr auto shortest_pause = 1s;
constexpr auto longest_pause = 60s;

bool concerns_exchange(failure why) {
  return why == failure::refused;
}

// Not counted as attempts in any case.
bool is_backpressure(failure why) {
  return why == failure::nacked || why == failure::unconfirmed;
}

}  // namespace

destinations::destinations(std::string_view default_exchange, const destination_limits& limits,
                           destination_hooks hooks)
    : default_exchange_(exchange_key({.exchange = default_exchange, .routing_key = {}})),
      limits_(limits),
      hooks_(std::move(hooks)) {}

// The lowest bit tells the two apart.
destinations::key destinations::exchange_key(const destination& of) {
  return std::hash<std::string_view>()(of.exchange) | 1U;
}

destinations::key destinations::full_key(const destination& of) {
  const key exchange = std::hash<std::string_view>()(of.exchange);
  const key routing_key = std::hash<std::string_view>()(of.routing_key);
  return (exchange * 0x9E3779B97F4A7C15ULL + routing_key) & ~key{1};
}

const destinations::trouble* destinations::find_down(const destination& to) const {
  if (down_ == 0) return nullptr;
  for (const key which : {exchange_key(to), full_key(to)})
    if (const auto found = troubles_.find(which); found != troubles_.end() && found->second.down)
      return &found->second;
  return nullptr;
}

destinations::trouble* destinations::find_down(const destination& to) {
  return const_cast<trouble*>(std::as_const(*this).find_down(to));
}

destinations::permit destinations::ask(const destination& to, clock::time_point now) {
  trouble* const one = find_down(to);
  if (one == nullptr) return permit::send;
  if (now < one->next_probe) return permit::wait;
  one->pause = std::min(one->pause * 2, limits_.longest_probe);
  one->next_probe = now + one->pause;
  return permit::probe;
}

bool destinations::end_trouble(key which, const destination& to, clock::time_point now) {
  const auto found = troubles_.find(which);
  if (found == troubles_.end()) return false;
  const trouble was = found->second;
  troubles_.erase(found);
  if (!was.down) return false;
  --down_;
  if (hooks_.on_up) hooks_.on_up(to, std::chrono::duration_cast<std::chrono::milliseconds>(now - was.since));
  return true;
}

void destinations::remember(key which) {
  if (worked_.size() >= limits_.most && !worked_.contains(which)) worked_.erase(worked_.begin());
  worked_.insert(which);
}

bool destinations::on_delivered(const destination& to, clock::time_point now) {
  const key full = full_key(to);
  if (full == latest_ && troubles_.empty()) return false;
  latest_ = full;
  remember(full);
  remember(exchange_key(to));
  if (troubles_.empty()) return false;
  const bool key_up = end_trouble(full, to, now);
  return end_trouble(exchange_key(to), {.exchange = to.exchange, .routing_key = {}}, now) || key_up;
}

destinations::finding destinations::on_failed(const destination& to, failure why, bool excused,
                                              std::string_view reason, clock::time_point now) {
  const bool exchange = concerns_exchange(why);
  const key which = exchange ? exchange_key(to) : full_key(to);
  const auto known = troubles_.find(which);
  const bool is_down = known != troubles_.end() && known->second.down;
  if (is_down) return finding::down;
  // One that was excused by a former leader says that it has worked.
  if (!has_worked(which) && !excused && !is_backpressure(why)) return finding::own;
  const bool first = known == troubles_.end();
  // Excused before, and others have got through since: it is this event.
  if (first && excused && worked_.contains(which) && !is_backpressure(why)) return finding::own;
  if (first && troubles_.size() >= limits_.most) return finding::own;
  trouble& one = troubles_[which];
  if (one.failures++ == 0) one.since = now;
  if (one.failures < failures_in_a_row) return finding::excused;
  one.down = true;
  ++down_;
  one.pause = limits_.first_probe;
  one.next_probe = now + one.pause;
  if (hooks_.on_down)
    hooks_.on_down({.exchange = to.exchange, .routing_key = exchange ? std::string_view() : to.routing_key},
                   reason);
  return finding::down;
}

std::chrono::milliseconds destinations::probe_pause(const destination& to) const {
  const trouble* const one = find_down(to);
  return one == nullptr ? limits_.first_probe : one->pause;
}

std::chrono::milliseconds destinations::pause(const destination& to) {
  trouble* const one = find_down(to);
  if (one == nullptr) return limits_.first_probe;
  const auto fair = std::chrono::milliseconds(++one->waiting * 1'000 / tried_per_second);
  return std::clamp<std::chrono::milliseconds>(fair, shortest_pause, longest_pause);
}

}  // namespace outboxd::flow
