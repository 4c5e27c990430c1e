#include "flow/dispatch/destinations.hpp"

#include <algorithm>

namespace outboxd::flow {
namespace {

constexpr auto never = clock::time_point::max();

}  // namespace

destinations::trouble* destinations::find(destination_id which) {
  const auto found = troubles_.find(which);
  return found == troubles_.end() ? nullptr : &found->second;
}

const destinations::trouble* destinations::find_blocked(destination_id which) const {
  const auto found = troubles_.find(which);
  return found != troubles_.end() && found->second.now == condition::blocked ? &found->second : nullptr;
}

std::optional<destinations::block> destinations::find_block(const destination& to) const {
  if (down_ == 0) return std::nullopt;
  for (const destination_id each : {exchange_id_of(to), id_of(to)})
    if (const trouble* const one = find_blocked(each)) return block{each, one->why, one->reason};
  return std::nullopt;
}

destinations::block destinations::block_of(destination_id which) const {
  const auto found = troubles_.find(which);
  if (found == troubles_.end()) return {which, failure::nacked, {}};
  return {which, found->second.why, found->second.reason};
}

bool destinations::may_go(destination_id of, std::int64_t seq) const {
  return works(of) || troubles_.find(of)->second.probe == seq;
}

// Returns null if too many destinations are tracked. The events that wait for this destination are then found
// in the table later.
destinations::trouble* destinations::begin(destination_id which, condition as, clock::time_point now,
                                           clock::time_point next) {
  if (troubles_.size() >= limits_.most) return nullptr;
  trouble& one = troubles_[which];
  one = {.now = as, .pause = limits_.first_probe};
  schedule(which, one, next);
  report& in = reports_[report_key(which)];
  if (in.troubles++ == 0) in.since = now;
  ++in.down;
  ++down_;
  return &one;
}

void destinations::schedule(destination_id which, trouble& one, clock::time_point at) {
  queue_of(one.in).erase({one.next, which});
  one.in = turn_of(one);
  one.next = at;
  queue_of(one.in).emplace(at, which);
}

destinations::turn destinations::turn_of(const trouble& one) const {
  if (one.now == condition::works) return turn::works;
  return one.pause < limits_.longest_probe ? turn::young : turn::old;
}

void destinations::enter(destination_id which, trouble& one, condition next) {
  const bool was_down = one.now != condition::works;
  const bool is_down = next != condition::works;
  one.now = next;
  if (was_down == is_down) return;
  std::size_t& in_report = reports_[report_key(which)].down;
  is_down ? (++down_, ++in_report) : (--down_, --in_report);
}

void destinations::forget(destination_id which, bool works, clock::time_point now) {
  const auto found = troubles_.find(which);
  enter(which, found->second, condition::works);
  queue_of(found->second.in).erase({found->second.next, which});
  troubles_.erase(found);
  const auto told = reports_.find(report_key(which));
  if (--told->second.troubles > 0) return;
  const report was = std::move(told->second);
  reports_.erase(told);
  if (!was.say_at || !hooks_.on_up) return;
  const destination named{.exchange = was.exchange, .routing_key = was.routing_key};
  hooks_.on_up({named, 0, was.events, std::chrono::duration_cast<std::chrono::milliseconds>(now - was.since)},
               works);
}

void destinations::leave(int client) {
  std::vector<destination_id> gone;
  for (auto& [which, one] : troubles_)
    if ((one.waits_in &= ~bit(client)) == 0) gone.push_back(which);
  for (const destination_id each : gone) {
    reports_[report_key(each)].say_at.reset();  // the outcome is unknown, so nothing is reported
    forget(each, false, {});
  }
}

// Sends a report about an exchange, the first or a later one.
void destinations::say(destination_id which, const destination& to, std::string_view reason,
                       clock::time_point now) {
  report& in = reports_[report_key(which)];
  const bool first = !in.say_at;
  if (!first && now < *in.say_at) return;
  if (first) {
    in.exchange = to.exchange;
    if (!is_exchange(which)) in.routing_key = to.routing_key;
    in.say_pause = limits_.first_word;
  } else {
    in.say_pause *= 10;
  }
  in.say_at = now + in.say_pause;
  const destination named{.exchange = in.exchange, .routing_key = in.routing_key};
  const destination_report words{named, in.down, in.events,
                                 std::chrono::duration_cast<std::chrono::milliseconds>(now - in.since)};
  if (first && hooks_.on_down) hooks_.on_down(words, reason);
  if (!first && hooks_.on_still_down) hooks_.on_still_down(words);
}

// Sets the time at which all events that wait for the destination are read again.
void destinations::begin_to_work(destination_id which, trouble& one, clock::time_point at) {
  enter(which, one, condition::works);
  schedule(which, one, at);
}

// If an exchange whose routing keys all failed accepts one of them again, it may accept the others, too.
void destinations::probe_all_keys_of(destination_id which, clock::time_point now) {
  report& in = reports_[report_key(which)];
  if (is_exchange(which) ||
      (in.spread_at != clock::time_point() && now - in.spread_at < limits_.longest_probe))
    return;
  in.spread_at = now;
  for (auto& [each, one] : troubles_) {
    if (report_key(each) != report_key(which) || one.now == condition::works) continue;
    one.pause = limits_.first_probe;
    schedule(each, one, std::min(one.next, now));
  }
}

void destinations::on_probe_delivered(destination_id which, trouble& one, clock::time_point now) {
  begin_to_work(which, one, now);
  budget_.widen();
  probe_all_keys_of(which, now);
}

void destinations::on_probe_failed(destination_id which, trouble& one, clock::time_point now) {
  one.pause = std::min(one.pause * 2, limits_.longest_probe);
  schedule(which, one, now + one.pause);
  budget_.narrow();
}

void destinations::on_delivered(const destination& to, const sent_event& what, clock::time_point now) {
  if (troubles_.empty()) return;
  if (const auto exchange = exchange_id_of(to); trouble* const one = find(exchange))
    if (one->now != condition::works) on_probe_delivered(exchange, *one, now);
  const auto which = id_of(to);
  trouble* const one = find(which);
  if (one == nullptr) return;
  const bool is_probe = what.waited_for && what.seq == one->probe;
  switch (one->now) {
    case condition::blocked:
      return on_probe_delivered(which, *one, now);
    case condition::doubtful:
      // Another event got through although this event failed, so the failed event waits for its own next
      // attempt.
      return is_probe ? on_probe_delivered(which, *one, now) : begin_to_work(which, *one, one->next);
    case condition::works:
      if (what.waited_for && !is_probe) one->pause = limits_.first_probe;
      return;
  }
}

destination_id destinations::on_failed(const destination& to, failure why, const sent_event& what, int client,
                                       std::string_view reason, clock::time_point now) {
  const bool of_exchange = concerns_exchange(why);
  const auto which = of_exchange ? exchange_id_of(to) : id_of(to);
  // If the failure concerns the routing key, the exchange exists.
  if (trouble* const exchange = of_exchange ? nullptr : find(exchange_id_of(to));
      exchange != nullptr && exchange->now != condition::works)
    on_probe_delivered(exchange_id_of(to), *exchange, now);
  trouble* one = find(which);
  const auto at_first = of_exchange ? condition::blocked : condition::doubtful;
  const bool is_news = what.waited_for != which;
  if (one == nullptr) {
    one = begin(which, at_first, now, now + limits_.first_probe);
    if (one == nullptr) return which;
  } else {
    const bool is_probe = !is_news && what.seq == one->probe;
    switch (one->now) {
      case condition::doubtful:
        if (is_news) enter(which, *one, condition::blocked);
        if (is_probe) on_probe_failed(which, *one, now);
        break;
      case condition::blocked:
        if (is_probe) on_probe_failed(which, *one, now);
        break;
      case condition::works:
        if (!is_news) one->pause = std::min(one->pause * 2, limits_.longest_probe);
        enter(which, *one, at_first);
        schedule(which, *one, std::max(one->next, now + one->pause));
        break;
    }
  }
  one->why = why;
  one->reason = reason;
  one->waits_in |= bit(client);
  if (is_news) ++reports_[report_key(which)].events;
  say(which, to, reason, now);
  return which;
}

void destinations::on_waits(destination_id for_what, int client) {
  trouble* const one = find(for_what);
  if (one == nullptr) return;
  one->waits_in |= bit(client);
  ++reports_[report_key(for_what)].events;
}

void destinations::on_recorded(destination_id for_what, int client, clock::time_point now) {
  trouble* const one = find(for_what);
  if (one == nullptr || (one->waits_in & bit(client)) == 0) on_found(for_what, client, now);
}

// The destination may work again, so new events are sent; if one of them fails, the destination is blocked.
void destinations::on_found(destination_id what, int client, clock::time_point now) {
  trouble* one = find(what);
  if (one == nullptr) one = begin(what, condition::doubtful, now, now);
  if (one != nullptr) one->waits_in |= bit(client);
}

std::vector<destinations::look_up> destinations::take_due(int client, std::size_t most,
                                                          clock::time_point now) {
  std::vector<look_up> out;
  for (schedule_of_turn& queue : schedule_)
    for (auto at = queue.begin(); at != queue.end() && at->first <= now && out.size() < most;) {
      const destination_id which = at->second;
      trouble& one = *find(which);
      ++at;
      const bool waits_here = (one.waits_in & bit(client)) != 0;
      if (one.now == condition::works) {
        if (waits_here) out.push_back({which, before_all, true});
        one.waits_in &= ~bit(client);
        if (one.waits_in != 0) continue;
        if (waits_here)
          schedule(which, one, now + std::min(one.pause, limits_.remembered));
        else
          forget(which, true, now);
      } else if (!is_exchange(which) && find_blocked(exchange_of(which)) != nullptr) {
        schedule(which, one, now + one.pause);  // the probe of its exchange decides about this destination
      } else if (waits_here) {
        if (!budget_.allows(now)) return out;
        budget_.count(now);
        out.push_back({which, one.probe, false});
        schedule(which, one, now + limits_.lost_probe);
      }
    }
  return out;
}

clock::time_point destinations::next_due(int client, clock::time_point now) const {
  clock::time_point out = never;
  for (const schedule_of_turn& queue : schedule_)
    for (const auto& [at, which] : queue) {
      if (at >= out) break;
      const trouble& one = troubles_.find(which)->second;
      const bool waits_here = (one.waits_in & bit(client)) != 0;
      if (one.now == condition::works ? !waits_here && one.waits_in != 0 : !waits_here) continue;
      const bool may_go = one.now == condition::works || budget_.allows(std::max(at, now));
      out = std::min(out, may_go ? at : std::max(at, budget_.ask_again_at(now)));
      break;
    }
  return out;
}

void destinations::on_probe(destination_id of, std::int64_t seq) {
  if (trouble* const one = find(of)) one->probe = seq;
}

void destinations::on_no_probe(destination_id of, int client, clock::time_point now) {
  trouble* const one = find(of);
  if (one == nullptr || one->now == condition::works) return;
  const bool from_the_start = one->probe == before_all;
  one->probe = before_all;
  if (from_the_start) one->waits_in &= ~bit(client);
  if (one->waits_in == 0) return forget(of, false, now);
  schedule(of, *one, now);
}

void destinations::on_unsent(destination_id of, std::int64_t seq, clock::time_point now) {
  trouble* const one = find(of);
  if (one != nullptr && one->now != condition::works && one->probe == seq)
    schedule(of, *one, now + one->pause);
}

void destinations::on_moved(destination_id of, clock::time_point now) {
  if (trouble* const one = find(of)) begin_to_work(of, *one, now);
}

void destinations::on_lane_up(clock::time_point now) {
  for (auto& [which, one] : troubles_)
    if (one.why == failure::nacked && one.now != condition::works && one.next > now)
      schedule(which, one, now);
}

}  // namespace outboxd::flow
