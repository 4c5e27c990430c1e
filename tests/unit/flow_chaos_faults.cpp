// flow_chaos_faults: what befalls relays, their sessions and the server.
#include <fmt/format.h>

#include "flow_chaos.hpp"

namespace outboxd::test {

using namespace std::chrono_literals;

void flow_chaos::strike() {
  if (calm_) return;
  auto& victim =
      *relays_[static_cast<std::size_t>(world_.between(0, static_cast<std::int64_t>(relays_.size()) - 1))];
  if (!victim.killed()) strike(victim);
  world_.after(world_.millis(10, 900), [this] { strike(); });
}

// One that works takes nothing for a while.
void flow_chaos::break_destinations() {
  if (calm_) return;
  world_.after(world_.millis(0, 2'000), [this] { break_destinations(); });
  const auto lasts = world_.millis(0, 3'000);
  if (how_.faults && world_.chance(200)) {  // over a message for it, channels are closed
    say("an exchange is deleted");
    exchange_.other_is_gone = true;
    world_.after(lasts, [this] { exchange_.other_is_gone = false; });
    return;
  }
  const int key = static_cast<int>(world_.between(0, other_exchange));
  say(fmt::format("routing key {} is not bound", key));
  exchange_.unbound.insert(key);
  world_.after(lasts, [this, key] { exchange_.unbound.erase(key); });
}

// By somebody who may, or by a stranger, who can say so as well. The word for it may be lost, and who asks
// may hang for ever.
void flow_chaos::ask_for_lead(simulated_relay& of, std::size_t shard, std::size_t who) {
  const bool may = world_.chance(700);
  say(fmt::format("{} is asked for {} by {}", who, shard, may ? "another" : "a stranger"));
  const auto for_long = world_.chance(100) ? std::chrono::hours(1) : world_.millis(100, 5'000);
  if (may) table_.request(shard, world_.now() + for_long);
  if (!may || world_.chance(900)) of.hear(shard, flow::word::yield);
}

void flow_chaos::strike(simulated_relay& victim) {
  const auto who = [&] {
    for (std::size_t i = 0; i < relays_.size(); ++i)
      if (relays_[i].get() == &victim) return i;
    return relays_.size();
  }();
  const auto shard =
      static_cast<std::size_t>(world_.between(0, static_cast<std::int64_t>(table_.shards()) - 1));
  auto& rabbit = victim.rabbit(
      static_cast<std::size_t>(world_.between(0, static_cast<std::int64_t>(victim.lanes()) - 1)));
  if (!how_.faults) return ask_for_lead(victim, shard, who);
  switch (world_.between(0, 12)) {
    case 0:
      say(fmt::format("{} loses its session of {}", who, shard));
      return victim.lose_session(shard);
    case 1:
      say(fmt::format("{} loses a lane", who));
      return rabbit.lose({world_.one_of({ending::blameless, ending::silent})});
    case 2:
      say(fmt::format("a lane of {} freezes", who));
      return rabbit.freeze(world_.millis(0, 3'000));
    case 3:
      if (how_.refusals && world_.chance(300)) {
        say(fmt::format("a lane of {} is refused until it connects anew", who));
        return rabbit.refuse();
      }
      say(fmt::format("a lane of {} is blocked", who));
      return rabbit.block(world_.millis(0, 3'000));
    case 4:
      say(fmt::format("{} freezes", who));
      return victim.freeze(world_.millis(0, 5'000));
    case 5:
    case 6: {
      if (!victim.running() || world_.chance(500)) return;
      const bool orderly = world_.chance(500);
      say(fmt::format("{} {}", who, orderly ? "stops" : "is killed"));
      orderly ? victim.stop(world_.millis(0, 1'000)) : victim.kill();
      return start_relay();
    }
    case 7:
      return ask_for_lead(victim, shard, who);
    case 8:
      if (world_.chance(600)) return end_server();
      return;
    case 9: {
      const auto which = aggregates_[static_cast<std::size_t>(
          world_.between(0, static_cast<std::int64_t>(aggregates_.size()) - 1))];
      say("a queue hangs");
      exchange_.hangs.insert(which);
      world_.after(world_.millis(0, 3'000), [this, which] { exchange_.hangs.erase(which); });
      return;
    }
    case 10:
      say(fmt::format("{} reaches no broker", who));
      return victim.lose_broker(world_.millis(0, 4'000));
    case 11:
      if (world_.chance(700)) return;
      say("PostgreSQL wants no writes");
      table_.read_only_until = world_.now() + world_.millis(0, 2'000);
      return;
    default:
      exchange_.nacks_in_thousand = how_.refusals ? world_.between(0, 300) : 0;
  }
}

void flow_chaos::end_server() {
  switch (world_.between(0, 4)) {
    case 0:
    case 1:
      return promote();
    case 2:
      say("the outbox moves");
      table_.move();
      break;
    default:
      return crash();
  }
  for (auto& one : relays_) one->crash_of_server();
}

void flow_chaos::promote() {
  if (calm_) return;
  say("a standby is promoted");
  table_.promote();
  for (auto& one : relays_) one->crash_of_server();
}

void flow_chaos::crash() {
  if (calm_) return;
  say("PostgreSQL crashes");
  table_.crash();
  for (auto& one : relays_) one->crash_of_server();
}

void flow_chaos::heal() {
  say("calm");
  calm_ = true;
  exchange_.nacks_in_thousand = exchange_.returns_in_thousand = 0;
  exchange_.hangs.clear();
  exchange_.unbound.clear();
  exchange_.other_is_gone = false;
  table_.paused.clear();
  world_.after(give_up_after_, [this] {
    give_up_after_ = std::chrono::seconds(1);
    settings_.stream.give_up_after = give_up_after_;
    for (auto& one : relays_) one->give_up_after(give_up_after_);
  });
  if (how_.after_dead == flow::after_dead::hold) discard_dead();
  const auto running =
      std::count_if(relays_.begin(), relays_.end(), [](const auto& one) { return one->running(); });
  if (running == 0) start_relay();
  if (running > 1 && how_.faults && world_.chance(300)) cut_off_one();
}

// One relay reaches no broker any more: the others do its work.
void flow_chaos::cut_off_one() {
  std::vector<std::size_t> running;
  for (std::size_t i = 0; i < relays_.size(); ++i)
    if (relays_[i]->running()) running.push_back(i);
  const auto which =
      running[static_cast<std::size_t>(world_.between(0, static_cast<std::int64_t>(running.size()) - 1))];
  say(fmt::format("{} reaches no broker any more", which));
  relays_[which]->lose_broker(1h);
}

}  // namespace outboxd::test
