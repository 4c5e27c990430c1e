// schedule: plans the faults of each target in order of time, with separate random numbers.
#include "schedule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <random>
#include <span>

namespace outboxd::chaos {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

struct kind_of_fault {
  fault what;
  std::string_view name;
  target::kind whom;
  int weight;
  milliseconds shortest;
  milliseconds longest;
};

// The durations fit the relays' settings in relay_settings.cpp: claim_timeout 4 s, confirm_timeout 2 s,
// heartbeat 2 s. Faults that cause good events to be returned are shorter than their retries last.
using enum target::kind;
constexpr std::array kinds{
    kind_of_fault{fault::relay_killed, "relay_killed", relay, 3, 0ms, 2000ms},
    kind_of_fault{fault::relay_frozen, "relay_frozen", relay, 2, 5000ms, 7000ms},
    kind_of_fault{fault::relay_stopped, "relay_stopped", relay, 3, 0ms, 1000ms},

    kind_of_fault{fault::guest_stopped, "guest_stopped", guest, 2, 2000ms, 8000ms},
    kind_of_fault{fault::guest_killed, "guest_killed", guest, 1, 2000ms, 8000ms},

    kind_of_fault{fault::leader_killed, "leader_killed", leader, 3, 0ms, 1500ms},
    kind_of_fault{fault::leader_stopped, "leader_stopped", leader, 2, 0ms, 1500ms},

    kind_of_fault{fault::backends_terminated, "backends_terminated", postgres, 4, 0ms, 0ms},
    kind_of_fault{fault::postgres_restarted, "postgres_restarted", postgres, 2, 0ms, 0ms},
    kind_of_fault{fault::postgres_crashed, "postgres_crashed", postgres, 2, 0ms, 0ms},
    kind_of_fault{fault::read_only, "read_only", postgres, 2, 500ms, 3000ms},
    kind_of_fault{fault::notifications_forged, "notifications_forged", postgres, 2, 0ms, 0ms},
    kind_of_fault{fault::notifications_lost, "notifications_lost", postgres, 2, 1000ms, 4000ms},
    kind_of_fault{fault::snapshot_held, "snapshot_held", postgres, 2, 2000ms, 6000ms},
    kind_of_fault{fault::table_locked, "table_locked", postgres, 2, 200ms, 1500ms},
    kind_of_fault{fault::database_password, "database_password", postgres, 1, 500ms, 2000ms},

    kind_of_fault{fault::alarm, "alarm", rabbitmq, 3, 1000ms, 5000ms},
    kind_of_fault{fault::broker_killed, "broker_killed", rabbitmq, 2, 0ms, 0ms},
    kind_of_fault{fault::broker_restarted, "broker_restarted", rabbitmq, 2, 0ms, 0ms},
    kind_of_fault{fault::broker_app_stopped, "broker_app_stopped", rabbitmq, 1, 0ms, 1000ms},
    kind_of_fault{fault::broker_frozen, "broker_frozen", rabbitmq, 2, 1000ms, 7000ms},
    kind_of_fault{fault::connections_closed, "connections_closed", rabbitmq, 3, 0ms, 0ms},
    kind_of_fault{fault::queue_full, "queue_full", rabbitmq, 3, 1000ms, 4000ms},
    kind_of_fault{fault::queue_unbound, "queue_unbound", rabbitmq, 3, 200ms, 1500ms},
    kind_of_fault{fault::exchange_deleted, "exchange_deleted", rabbitmq, 2, 0ms, 1000ms},
    kind_of_fault{fault::permission_revoked, "permission_revoked", rabbitmq, 1, 200ms, 1500ms},
    kind_of_fault{fault::broker_password, "broker_password", rabbitmq, 1, 500ms, 2000ms},

    kind_of_fault{fault::link_delayed, "link_delayed", link, 2, 1000ms, 4000ms},
    kind_of_fault{fault::link_cut, "link_cut", link, 3, 0ms, 0ms},
    kind_of_fault{fault::link_reset, "link_reset", link, 3, 0ms, 0ms},
    kind_of_fault{fault::link_stalled, "link_stalled", link, 2, 500ms, 6000ms},
    kind_of_fault{fault::link_half_open, "link_half_open", link, 3, 500ms, 6000ms},
    kind_of_fault{fault::link_dropped, "link_dropped", link, 2, 500ms, 6000ms},
    kind_of_fault{fault::link_sliced, "link_sliced", link, 2, 500ms, 2000ms},
    kind_of_fault{fault::link_refused, "link_refused", link, 2, 500ms, 3000ms},
    kind_of_fault{fault::link_silent, "link_silent", link, 2, 500ms, 3000ms},
    kind_of_fault{fault::link_abandoned, "link_abandoned", link, 2, 1000ms, 6000ms},

    kind_of_fault{fault::xids_burnt, "xids_burnt", neighbour, 1, 0ms, 0ms},
    kind_of_fault{fault::lock_table_full, "lock_table_full", neighbour, 1, 300ms, 1500ms},
    kind_of_fault{fault::notify_queue_full, "notify_queue_full", neighbour, 1, 1000ms, 4000ms},
    kind_of_fault{fault::standby_gone, "standby_gone", neighbour, 1, 500ms, 4000ms},

    kind_of_fault{fault::shard_rows_deleted, "shard_rows_deleted", hand, 1, 0ms, 0ms},
    kind_of_fault{fault::sequence_set_back, "sequence_set_back", hand, 1, 0ms, 0ms},
    kind_of_fault{fault::rows_corrected, "rows_corrected", hand, 2, 1000ms, 4000ms},
    kind_of_fault{fault::rows_put_off, "rows_put_off", hand, 2, 1000ms, 4000ms},
};

/// Integers that are the same with every standard library, unlike its distributions.
class dice {
 public:
  dice(std::uint64_t seed, std::uint64_t stream) {
    std::seed_seq mixed{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32U),
                        static_cast<std::uint32_t>(stream)};
    engine_.seed(mixed);
  }
  /// From 0 to `most`, both included.
  std::int64_t up_to(std::int64_t most) {
    return static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(most + 1));
  }
  milliseconds between(milliseconds least, milliseconds most) {
    return least + milliseconds{up_to((most - least).count())};
  }

 private:
  std::mt19937_64 engine_;
};

const kind_of_fault& choose(target::kind whom, dice& random) {
  std::int64_t sum = 0;
  for (const auto& one : kinds)
    if (one.whom == whom) sum += one.weight;
  auto left = random.up_to(sum - 1);
  for (const auto& one : kinds) {
    if (one.whom != whom) continue;
    left -= one.weight;
    if (left < 0) return one;
  }
  return kinds.front();
}

// The gap between two faults of a target lets it recover, so that the next fault has an effect.
struct gaps {
  milliseconds shortest;
  milliseconds longest;
};
constexpr gaps gaps_of(target::kind whom) {
  switch (whom) {
    case relay:
      return {3000ms, 12000ms};
    case guest:
      return {1000ms, 6000ms};
    case leader:
      return {4000ms, 15000ms};
    case postgres:
      return {2000ms, 7000ms};
    case rabbitmq:
      return {2000ms, 7000ms};
    case link:
      return {3000ms, 14000ms};
    case neighbour:
      return {5000ms, 20000ms};
    case hand:
      return {8000ms, 20000ms};
  }
  return {};
}

constexpr auto undisturbed = 3000ms;

// Does not overlap with the numbers of relays and guests, however many there are.
constexpr std::uint64_t neighbours_stream = 1'000'000;
constexpr std::uint64_t hands_stream = 1'000'001;

void walk(const schedule_options& from, const target& whom, std::uint64_t stream,
          std::vector<planned>& into) {
  dice random{from.seed, stream};
  const auto gap = gaps_of(whom.what);
  auto now = undisturbed + random.between(0ms, gap.longest);
  for (;;) {
    const auto& kind = choose(whom.what, random);
    const auto lasts = random.between(kind.shortest, kind.longest);
    const auto way = random.up_to(1) == 0 ? test::direction::to_server : test::direction::to_client;
    if (now + lasts >= from.length) return;
    into.push_back({.at = now, .lasts = lasts, .what = kind.what, .whom = whom, .way = way});
    now += lasts + random.between(gap.shortest, gap.longest);
  }
}

double seconds(milliseconds span) {
  return static_cast<double>(span.count()) / 1000;
}

}  // namespace

std::string_view name_of(fault what) {
  const auto found =
      std::find_if(kinds.begin(), kinds.end(), [&](const auto& one) { return one.what == what; });
  return found == kinds.end() ? "?" : found->name;
}

std::optional<fault> fault_of(std::string_view name) {
  for (const auto& one : kinds)
    if (one.name == name) return one.what;
  return std::nullopt;
}

std::string_view name_of(server which) {
  return which == server::postgres ? "postgres" : "rabbitmq";
}

std::string target::words() const {
  switch (what) {
    case kind::relay:
      return fmt::format("relay {}", relay);
    case kind::guest:
      return fmt::format("guest {}", relay);
    case kind::leader:
      return "the leader";
    case kind::postgres:
      return "postgres";
    case kind::rabbitmq:
      return "rabbitmq";
    case kind::link:
      return fmt::format("relay {} to {}", relay, name_of(peer));
    case kind::neighbour:
      return "a neighbour";
    case kind::hand:
      return "a hand";
  }
  return {};
}

std::string planned::words() const {
  const auto side = whom.what != link                   ? ""
                    : way == test::direction::to_server ? ", to_server"
                                                        : ", to_client";
  return fmt::format("{:.3f} s +{:.3f} s {} {}{}", seconds(at), seconds(lasts), name_of(what), whom.words(),
                     side);
}

std::vector<planned> make_schedule(const schedule_options& from) {
  std::vector<planned> all;
  std::uint64_t stream = 0;
  walk(from, {.what = postgres}, stream++, all);
  walk(from, {.what = rabbitmq}, stream++, all);
  for (int i = 1; i <= from.relays; ++i) {
    walk(from, {.what = relay, .relay = i}, stream++, all);
    for (const auto peer : {server::postgres, server::rabbitmq})
      walk(from, {.what = link, .relay = i, .peer = peer}, stream++, all);
  }
  walk(from, {.what = leader}, stream++, all);
  for (int i = 1; i <= from.guests; ++i) walk(from, {.what = guest, .relay = from.relays + i}, stream++, all);
  walk(from, {.what = neighbour}, neighbours_stream, all);
  walk(from, {.what = hand}, hands_stream, all);
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.at < b.at; });
  return all;
}

}  // namespace outboxd::chaos
