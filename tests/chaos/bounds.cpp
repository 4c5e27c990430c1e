// bounds: sums over the faults.
#include "bounds.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace outboxd::chaos {
namespace {

using namespace std::chrono_literals;

bool may_repeat(const injection& one) {
  switch (one.plan.what) {
    case fault::notifications_forged:
    case fault::notifications_lost:
    case fault::snapshot_held:
    case fault::table_locked:
    case fault::xids_burnt:
    case fault::notify_queue_full:
    case fault::shard_rows_deleted:
    case fault::sequence_set_back:
    case fault::rows_corrected:
    case fault::rows_put_off:
    case fault::standby_gone:
      return false;
    case fault::lock_table_full:
    case fault::relay_killed:
    case fault::relay_frozen:
    case fault::relay_stopped:
    case fault::guest_stopped:
    case fault::guest_killed:
    case fault::leader_killed:
    case fault::leader_stopped:
    case fault::backends_terminated:
    case fault::postgres_restarted:
    case fault::postgres_crashed:
    case fault::read_only:
    case fault::database_password:
    case fault::alarm:
    case fault::broker_killed:
    case fault::broker_restarted:
    case fault::broker_app_stopped:
    case fault::broker_frozen:
    case fault::connections_closed:
    case fault::queue_full:
    case fault::queue_unbound:
    case fault::exchange_deleted:
    case fault::permission_revoked:
    case fault::broker_password:
    case fault::link_delayed:
    case fault::link_cut:
    case fault::link_reset:
    case fault::link_stalled:
    case fault::link_half_open:
    case fault::link_dropped:
    case fault::link_sliced:
    case fault::link_refused:
    case fault::link_silent:
    case fault::link_abandoned:
      return true;
  }
  return true;
}

std::string median_of(std::vector<std::chrono::microseconds> times) {
  if (times.empty()) return "-";
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return fmt::format("{:.2f} ms", static_cast<double>(middle->count()) / 1000);
}

}  // namespace

// Each fault may duplicate the events that the leaders had in flight when it began, and again each time that
// a leader reconnects and tries while it lasts: at most once per second on average, because the pauses grow.
// A server crash also loses about a second of unwritten data: marks in PostgreSQL and acknowledgements in
// RabbitMQ.
std::size_t allowed_duplicates(const evidence& from) {
  std::size_t rounds = 0;
  for (const auto& one : from.faults) {
    if (!may_repeat(one)) continue;
    const auto lasted = std::chrono::duration_cast<std::chrono::seconds>(one.ended - one.began);
    rounds += 2 + static_cast<std::size_t>(lasted.count());
  }
  rounds += from.seen.ended_at_points;
  // Each such event closes a channel with other events in flight, and is sent alone afterwards; a crash may
  // reset that count.
  const auto closes_channels =
      std::count_if(from.by_writers.bad.begin(), from.by_writers.bad.end(),
                    [](const auto& one) { return one.second == event_kind::missing_exchange; });
  const auto odd = std::count_if(from.by_writers.odd.begin(), from.by_writers.odd.end(),
                                 [](const auto& one) { return closes_something(*one.second); });
  rounds += 2 * static_cast<std::size_t>(closes_channels + odd);
  return rounds * from.in_flight;
}

std::chrono::milliseconds longest_unroutable(const std::vector<injection>& faults) {
  std::chrono::milliseconds longest{0};
  for (const auto& first : faults) {
    std::chrono::milliseconds sum{0};
    for (const auto& one : faults)
      if (one.began >= first.began && one.began < first.began + 60s) sum += one.unroutable;
    longest = std::max(longest, sum);
  }
  return longest;
}

std::string commit_times(const evidence& from) {
  std::vector<std::chrono::microseconds> calm;
  std::vector<std::chrono::microseconds> troubled;
  for (const auto& one : from.by_writers.commits) {
    const auto during = [&](target::kind which) {
      return std::any_of(from.faults.begin(), from.faults.end(), [&](const injection& fault) {
        return fault.plan.whom.what == which && fault.began <= one.began && one.began <= fault.ended;
      });
    };
    if (during(target::kind::postgres)) continue;
    (during(target::kind::rabbitmq) || during(target::kind::relay) ? troubled : calm).push_back(one.took);
  }
  return fmt::format("commit median {} in calm ({}), {} while broker or relay were disturbed ({})",
                     median_of(calm), calm.size(), median_of(troubled), troubled.size());
}

}  // namespace outboxd::chaos
