#include "stage/delivery_times.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <thread>

#include "stage/arrivals.hpp"
#include "stage/await.hpp"
#include "stage/broker_log.hpp"

namespace outboxd::bench {
namespace {

using clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr auto time_limit = 10s;

// Messages of a relay that was stopped earlier may still arrive, so each measurement uses its own numbers.
constexpr std::int64_t most_events = 100'000'000;

}  // namespace

std::string numbered_insert(const stage& where, const std::string& schema, std::int64_t n) {
  return fmt::format(
      "INSERT INTO {}.event (aggregate_type, aggregate_id, event_type, exchange, payload)"
      " VALUES ('order', '{}', '{}', '{}', '{{\"n\": {}, \"text\": \"a few words about what was "
      "ordered\"}}')",
      schema, n % 10'000, where.event_type(), where.exchange(), n);
}

delivery_times time_deliveries(const setup& on, stage& where, const pace& how,
                               const std::function<std::string(std::int64_t n)>& insert) {
  static std::int64_t measurements = 0;
  const std::int64_t first = most_events * ++measurements;
  where.purge();
  empty_broker_log(on);
  arrivals came(on, where.queue());
  // When this first event arrives, the relay is connected.
  where.connect().exec(insert(first - 1));
  await(
      "the first event comes",
      [&] {
        const auto some = came.take();
        return std::any_of(some.begin(), some.end(),
                           [&](const arrival& one) { return one.number == first - 1; });
      },
      30s, 10ms);

  const auto sent =
      write_at_pace(where, how, [&](std::size_t n) { return insert(first + static_cast<std::int64_t>(n)); });
  const auto give_up = clock::now() + time_limit;
  // Some events may arrive twice.
  std::vector<std::optional<clock::time_point>> seen(sent.size());
  std::size_t arrived = 0;
  for (;;) {
    for (const auto& one : came.take()) {
      if (one.number < first) continue;
      auto& at = seen.at(static_cast<std::size_t>(one.number - first));
      if (!at) ++arrived;
      at = std::min(at.value_or(one.at), one.at);
    }
    if (arrived == sent.size() || clock::now() > give_up) break;
    std::this_thread::sleep_for(10ms);
  }
  const auto now = clock::now();
  delivery_times out;
  for (std::size_t n = 0; n < sent.size(); ++n)
    if (sent[n] >= how.measured_from)
      out.ms.push_back(std::chrono::duration<double, std::milli>(seen[n].value_or(now) - sent[n]).count());
  out.missing = 1 - static_cast<double>(arrived) / static_cast<double>(sent.size());
  return out;
}

}  // namespace outboxd::bench
