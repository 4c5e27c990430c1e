// relay_faults: faults of a relay's process and of its two connections.
#include <fmt/format.h>

#include <csignal>

#include "injector.hpp"

namespace outboxd::chaos {
namespace {

using namespace std::chrono_literals;
using namespace test;

relay& target_of(const scene& on) {
  return *on.all.relays.at(static_cast<std::size_t>(on.plan.whom.relay - 1));
}

void kill(scene& on, relay& whom) {
  const auto status = whom.kill();
  if (status && status->signal == SIGKILL) on.saw("ended by signal 9");
  on.hold();
  whom.start();
}

void freeze(scene& on, relay& whom) {
  whom.freeze();
  const bool frozen = on.await([&] { return whom.frozen(); });
  on.hold();
  if (frozen && whom.frozen()) on.saw("stopped all the time");
  whom.thaw();
}

void stop(scene& on, relay& whom) {
  const auto status = whom.stop(120s);
  if (status) on.saw(fmt::format("exit code {}", status->code.value_or(-1)));
  on.hold();
  whom.start();
}

// It runs for the planned time, as a standby or leader, and then stops.
void visit(scene& on, void (*leave)(relay& whom)) {
  auto& whom = target_of(on);
  whom.start();
  if (whom.await_connected(10s)) on.saw(fmt::format("came for the {}. time", whom.lives()));
  on.hold();
  leave(whom);
}

// The application_name of the session that holds this shard's lock is the relay's name.
relay* leader_of(const scene& on, database& session, int shard) {
  const auto rows = session.exec(
      "SELECT a.application_name FROM pg_locks AS l JOIN pg_stat_activity AS a ON a.pid = l.pid"
      " WHERE l.locktype = 'advisory' AND l.objsubid = 2 AND l.objid = $1::bigint::oid AND l.granted"
      " AND a.usename = $2 AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())",
      {std::to_string(shard), on.all.where.user()});
  for (const auto& one : on.all.relays)
    if (!rows.empty() && one->name() == rows.front()[0]) return one.get();
  return nullptr;
}

relay* find_leader(scene& on) {
  const auto shard = static_cast<int>(on.plan.at.count() % on.all.where.shards());
  relay* found = nullptr;
  on.await([&] {
    try {
      auto session = on.all.where.connect();
      found = leader_of(on, session, shard);
    } catch (const database_error&) {
      // // being restarted at this moment
    }
    return found != nullptr;
  });
  return found;
}

void kill_leader(scene& on) {
  auto* const whom = find_leader(on);
  if (whom == nullptr) return on.saw_nothing("nobody led");
  if (whom->kill()) on.saw(whom->name() + " killed");
  on.hold();
  if (!whom->is_guest()) whom->start();
}

void stop_leader(scene& on) {
  auto* const whom = find_leader(on);
  if (whom == nullptr) return on.saw_nothing("nobody led");
  if (whom->stop(120s)) on.saw(whom->name() + " stopped");
  on.hold();
  if (!whom->is_guest()) whom->start();
}

constexpr act guest_acts[]{
    {fault::guest_stopped, [](scene& on) { visit(on, [](relay& whom) { whom.stop(120s); }); }},
    {fault::guest_killed, [](scene& on) { visit(on, [](relay& whom) { whom.kill(); }); }},
};

constexpr act leader_acts[]{
    {fault::leader_killed, kill_leader},
    {fault::leader_stopped, stop_leader},
};

constexpr act relay_acts[]{
    {fault::relay_killed, [](scene& on) { kill(on, target_of(on)); }},
    {fault::relay_frozen, [](scene& on) { freeze(on, target_of(on)); }},
    {fault::relay_stopped, [](scene& on) { stop(on, target_of(on)); }},
};

/// How a link is disturbed, and the counter that proves it.
struct disturbance {
  fault what;
  void (*begin)(tcp_proxy& link, direction way);
  const char* counts;
  std::uint64_t proxy_counters::*count;
};

using kind = flow::kind;

void both_ways(tcp_proxy& link, flow how) {
  link.set(direction::to_server, how);
  link.set(direction::to_client, how);
}

// Existing connections are cut, so that new ones meet this fault.
void receive(tcp_proxy& link, welcome how) {
  link.set(how);
  link.cut();
}

constexpr disturbance disturbances[]{
    {fault::link_delayed,
     [](tcp_proxy& link, direction way) {
       link.set(way, {kind::delay, 200ms});
     },
     "bytes late", &proxy_counters::delayed_bytes},
    {fault::link_cut, [](tcp_proxy& link, direction) { link.cut(); }, "connections cut",
     &proxy_counters::cut},
    {fault::link_reset, [](tcp_proxy& link, direction) { link.reset(); }, "connections reset",
     &proxy_counters::reset},
    {fault::link_stalled,
     [](tcp_proxy& link, direction) {
       both_ways(link, {kind::stall, {}});
     },
     "looks at bytes held up", &proxy_counters::stalled_pieces},
    {fault::link_half_open,
     [](tcp_proxy& link, direction way) {
       link.set(way, {kind::stall, {}});
     },
     "looks at bytes held up", &proxy_counters::stalled_pieces},
    {fault::link_dropped,
     [](tcp_proxy& link, direction way) {
       link.set(way, {kind::drop, {}});
     },
     "bytes dropped", &proxy_counters::dropped_bytes},
    {fault::link_sliced,
     [](tcp_proxy& link, direction) {
       both_ways(link, {kind::slice, {}});
     },
     "bytes one by one", &proxy_counters::sliced_bytes},
    {fault::link_refused, [](tcp_proxy& link, direction) { receive(link, welcome::refuse); },
     "connections refused", &proxy_counters::refused},
    {fault::link_silent, [](tcp_proxy& link, direction) { receive(link, welcome::silence); },
     "connections without an answer", &proxy_counters::silenced},
    {fault::link_abandoned, [](tcp_proxy& link, direction) { link.abandon_server(); },
     "connections that the server still has", &proxy_counters::abandoned},
};

/// Waits for the planned duration, and a little longer if there is no evidence yet.
void disturb(scene& on, tcp_proxy& link, const disturbance& how) {
  const auto before = link.counters().*how.count;
  const auto grown = [&] { return link.counters().*how.count - before; };
  how.begin(link, on.plan.way);
  on.hold();
  if (on.await([&] { return grown() > 0; }, 5s)) on.saw(fmt::format("{} {}", grown(), how.counts));
  link.heal();
}

}  // namespace

void relay_fault(scene& on) {
  auto& whom = target_of(on);
  if (!on.await([&] { return whom.running(); }, 20s)) return on.saw_nothing("the relay did not run");
  play(on, relay_acts);
}

void guest_fault(scene& on) {
  play(on, guest_acts);
}

void leader_fault(scene& on) {
  play(on, leader_acts);
}

void link_fault(scene& on) {
  auto& link = target_of(on).link(on.plan.whom.peer);
  if (!on.await([&] { return link.counters().open > 0; }, 20s))
    return on.saw_nothing("there was no connection");
  for (const auto& one : disturbances)
    if (one.what == on.plan.what) return disturb(on, link, one);
  throw std::logic_error{"nobody knows how to do it"};
}

}  // namespace outboxd::chaos
