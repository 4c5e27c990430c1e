#include "flow/dispatch/destinations.hpp"

#include <algorithm>
#include <utility>

namespace outboxd::flow {
namespace {

using namespace std::chrono_literals;

// Events that wait are tried again so many a second, all of a destination together.
constexpr std::int64_t tried_per_second = 100;
constexpr auto shortest_pause = 1s;
constexpr auto longest_pause = 60s;

// Not counted as attempts in any case.
bool is_backpressure(failure why) {
  return why == failure::nacked || why == failure::unconfirmed;
}

// What an earlier failure says of that part of the destination at which the event has failed now: a key that
// has worked vouches for its exchange, an exchange that has worked for none of its keys.
excuse vouched(excuse before, bool for_exchange) {
  switch (before) {
    case excuse::none:
    case excuse::not_sent:
    case excuse::failed:
    case excuse::refused:
      return before;
    case excuse::exchange_not_sent:
      return for_exchange ? excuse::not_sent : excuse::none;
    case excuse::exchange_failed:
      return for_exchange ? excuse::failed : excuse::none;
  }
  return excuse::none;
}

}  // namespace

destinations::destinations(std::string_view default_exchange, const destination_limits& limits,
                           destination_hooks hooks)
    : default_exchange_(exchange_key({.exchange = default_exchange, .routing_key = {}})),
      limits_(limits),
      hooks_(std::move(hooks)) {}

void destinations::trust(const std::vector<std::string>& exchanges) {
  trusted_.clear();
  for (const std::string& one : exchanges)
    trusted_.insert(exchange_key({.exchange = one, .routing_key = {}}));
}

// The lowest bit tells the two apart.
destinations::key destinations::exchange_key(const destination& of) {
  return std::hash<std::string_view>()(of.exchange) | 1U;
}

destinations::key destinations::full_key(const destination& of) {
  const key exchange = std::hash<std::string_view>()(of.exchange);
  const key routing_key = std::hash<std::string_view>()(of.routing_key);
  return (exchange * 0x9E3779B97F4A7C15ULL + routing_key) & ~key{1};
}

const destinations::trouble* destinations::find_down(key which) const {
  const auto found = troubles_.find(which);
  return found != troubles_.end() && found->second.now != condition::doubtful ? &found->second : nullptr;
}

const destinations::trouble* destinations::find_down(const destination& to) const {
  if (down_ == 0) return nullptr;
  const trouble* const exchange = find_down(exchange_key(to));
  return exchange != nullptr ? exchange : find_down(full_key(to));
}

destinations::trouble* destinations::find_down(const destination& to) {
  return const_cast<trouble*>(std::as_const(*this).find_down(to));
}

destinations::permit destinations::ask(const destination& to, clock::time_point now) {
  trouble* const one = find_down(to);
  if (one == nullptr) return permit::send;
  if (now < one->next_probe) return permit::wait;
  one->now = condition::probed;
  const bool alone = one == find_down(exchange_key(to));
  // Its queue may hang, or only the connection that it went to: then another one may do better.
  one->next_probe = now + (alone ? limits_.lone_probe : 2 * one->pause);
  return alone ? permit::probe_alone : permit::probe;
}

void destinations::on_lane_changed(clock::time_point now) {
  if (down_ == 0) return;
  for (auto& [where, one] : troubles_) {
    if (one.now == condition::doubtful) continue;
    one.now = condition::down;
    one.next_probe = now;
  }
}

void destinations::on_probes_lost(clock::time_point now) {
  if (down_ == 0) return;
  for (auto& [where, one] : troubles_) {
    if (one.now != condition::probed) continue;
    one.now = condition::down;
    one.next_probe = now;
  }
}

bool destinations::end_trouble(key which, const destination& to, clock::time_point now) {
  const auto found = troubles_.find(which);
  if (found == troubles_.end()) return false;
  const trouble was = found->second;
  troubles_.erase(found);
  if (was.now == condition::doubtful) return false;
  --down_;
  if (hooks_.on_up) hooks_.on_up(to, std::chrono::duration_cast<std::chrono::milliseconds>(now - was.since));
  return true;
}

// The broker has answered for what never has worked: there is no outage.
void destinations::forget_unproven(key which) {
  const auto found = troubles_.find(which);
  if (found == troubles_.end() || found->second.worked) return;
  if (found->second.now != condition::doubtful) --down_;
  troubles_.erase(found);
}

void destinations::remember(key which) {
  if (worked_.size() >= limits_.most && !worked_.contains(which)) worked_.erase(worked_.begin());
  worked_.insert(which);
}

bool destinations::on_delivered(const destination& to, clock::time_point now) {
  const key full = full_key(to);
  const bool login_works = forbidden_.size() > 1;
  if (!forbidden_.empty()) forbidden_.clear();
  if (full == latest_ && troubles_.empty()) return login_works;
  latest_ = full;
  remember(full);
  remember(exchange_key(to));
  if (troubles_.empty()) return login_works;
  const bool key_up = end_trouble(full, to, now);
  return end_trouble(exchange_key(to), {.exchange = to.exchange, .routing_key = {}}, now) || key_up ||
         login_works;
}

// A login may lose all its rights at once: its token has expired, somebody has changed them. It is not to
// blame if the broker, asked again after a pause, still refuses it for a single exchange.
bool destinations::login_is_to_blame(key exchange, excuse before) {
  if (forbidden_.size() < limits_.most) forbidden_.insert(exchange);
  return before != excuse::refused || forbidden_.size() > 1;
}

destinations::finding destinations::on_failed(const destination& to, failure why, const event_key& which,
                                              excuse before, std::string_view reason, clock::time_point now) {
  const bool exchange = concerns_exchange(why);
  const key where = exchange ? exchange_key(to) : full_key(to);
  before = vouched(before, exchange);
  const bool refused_login = why == failure::forbidden && exchange && login_is_to_blame(where, before);
  const auto known = troubles_.find(where);
  const bool worked = has_worked(where) || before == excuse::not_sent || before == excuse::failed ||
                      (known != troubles_.end() && known->second.worked);
  if (!worked && !is_backpressure(why)) {
    forget_unproven(where);
    forget_unproven(full_key(to));
    return refused_login ? finding::login : finding::own;
  }
  if (known != troubles_.end()) {
    known->second.why = why;
    known->second.worked = worked;
  }
  if (known != troubles_.end() && known->second.now != condition::doubtful) {
    trouble& one = known->second;
    if (one.now == condition::down) return finding::down;
    one.now = condition::down;
    one.pause = std::min(one.pause * 2, limits_.longest_probe);
    one.next_probe = now + one.pause;
    one.waiting /= 2;
    return finding::down;
  }
  if (known == troubles_.end()) {
    if (troubles_.size() >= limits_.most) return finding::own;
    troubles_[where] = {.first = which, .why = why, .worked = worked, .since = now};
    // Excused before, and others have got through since: it is this event.
    return before == excuse::failed && worked_.contains(where) && !is_backpressure(why) ? finding::own
                                                                                        : finding::excused;
  }
  // One event by itself takes nothing down, however often it fails.
  trouble& one = known->second;
  if (one.first == which) return finding::excused;
  one.now = condition::down;
  ++down_;
  one.pause = limits_.first_probe;
  one.next_probe = now + one.pause;
  if (hooks_.on_down)
    hooks_.on_down({.exchange = to.exchange, .routing_key = exchange ? std::string_view() : to.routing_key},
                   reason);
  return finding::down;
}

failure destinations::reason_to_wait(const destination& to) const {
  const trouble* const one = find_down(to);
  return one == nullptr || one->worked ? failure::not_sent : one->why;
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
