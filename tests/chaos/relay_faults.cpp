// relay_faults: what happens to a relay's process and to its two ways out.
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

bool is_forwarding(tcp_proxy& link) {
  return link.counters().open > 0;
}

void kill(scene& on, relay& whom) {
  whom.kill();
  const auto last = whom.deaths().back();
  if (last.status.signal == SIGKILL) on.saw("ended by signal 9");
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

/// Sets the fault, and waits until `count` has grown; a little longer than planned if need be.
void disturb(scene& on, tcp_proxy& link, const std::function<void()>& begin, const char* name,
             std::uint64_t proxy_counters::*count) {
  const auto before = link.counters().*count;
  begin();
  on.hold();
  const auto grown = [&] { return link.counters().*count > before; };
  if (on.await(grown, 5s)) on.saw(fmt::format("{} {}", link.counters().*count - before, name));
  link.heal();
}

}  // namespace

void relay_fault(scene& on) {
  auto& whom = target_of(on);
  if (!on.await([&] { return whom.running(); }, 20s)) return on.saw_nothing("the relay did not run");
  switch (on.plan.what) {
    case fault::relay_killed:
      return kill(on, whom);
    case fault::relay_frozen:
      return freeze(on, whom);
    case fault::relay_stopped:
      return stop(on, whom);
    default:
      throw std::logic_error{"not a fault of a relay"};
  }
}

void link_fault(scene& on) {
  auto& whom = target_of(on);
  auto& link = whom.link(on.plan.whom.peer);
  if (!on.await([&] { return is_forwarding(link); }, 20s)) return on.saw_nothing("there was no connection");
  const auto both = [&](flow how) {
    link.set(direction::to_server, how);
    link.set(direction::to_client, how);
  };
  using kind = flow::kind;
  using count = proxy_counters;
  switch (on.plan.what) {
    case fault::link_delayed:
      return disturb(
          on, link,
          [&] {
            link.set(on.plan.way, {kind::delay, 200ms});
          },
          "bytes late", &count::delayed_bytes);
    case fault::link_cut:
      return disturb(
          on, link, [&] { link.cut(); }, "connections cut", &count::cut);
    case fault::link_reset:
      return disturb(
          on, link, [&] { link.reset(); }, "connections reset", &count::reset);
    case fault::link_stalled:
      return disturb(
          on, link,
          [&] {
            both({kind::stall, {}});
          },
          "looks at bytes held up", &count::stalled_pieces);
    case fault::link_half_open:
      return disturb(
          on, link,
          [&] {
            link.set(on.plan.way, {kind::stall, {}});
          },
          "looks at bytes held up", &count::stalled_pieces);
    case fault::link_dropped:
      return disturb(
          on, link,
          [&] {
            link.set(on.plan.way, {kind::drop, {}});
          },
          "bytes dropped", &count::dropped_bytes);
    case fault::link_sliced:
      return disturb(
          on, link,
          [&] {
            both({kind::slice, {}});
          },
          "bytes one by one", &count::sliced_bytes);
    case fault::link_refused:
      return disturb(
          on, link,
          [&] {
            link.set(welcome::refuse);
            link.cut();
          },
          "connections refused", &count::refused);
    case fault::link_silent:
      return disturb(
          on, link,
          [&] {
            link.set(welcome::silence);
            link.cut();
          },
          "connections without an answer", &count::silenced);
    case fault::link_abandoned:
      return disturb(
          on, link, [&] { link.abandon_server(); }, "connections that the server still has",
          &count::abandoned);
    default:
      throw std::logic_error{"not a fault of a link"};
  }
}

}  // namespace outboxd::chaos
