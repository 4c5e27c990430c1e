// outage: measures three phases: calm, outage, return.
#include "outage.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <libpq-fe.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "arena.hpp"
#include "injector.hpp"
#include "keeper.hpp"
#include "recorder.hpp"
#include "settle.hpp"
#include "support/eventually.hpp"
#include "support/loopback.hpp"
#include "support/servers.hpp"
#include "writers.hpp"

namespace outboxd::chaos {
namespace {

using namespace std::chrono_literals;
using namespace test;
using clock = std::chrono::steady_clock;

constexpr auto calm = 15s;
constexpr auto outage_limit = 300s;
constexpr std::size_t flat_kb = 32 * 1024;  // total growth, because the drain fills every lane
constexpr std::size_t flat_while_down_kb = 2 * 1024;

bool accepts(std::uint16_t port) {
  const auto address = loopback(port);
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const bool open = ::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  ::close(socket);
  return open;
}

double seconds(clock::duration span) {
  return std::chrono::duration<double>(span).count();
}

/// Median and 99th percentile of the durations of commits that began in a phase.
std::string commits_between(const written& all, moment from, moment to) {
  std::vector<double> times;
  for (const auto& one : all.commits)
    if (from <= one.began && one.began < to) times.push_back(static_cast<double>(one.took.count()) / 1000);
  if (times.empty()) return "none";
  std::sort(times.begin(), times.end());
  return fmt::format("{} commits, median {:.2f} ms, p99 {:.2f} ms, longest {:.2f} ms", times.size(),
                     times[times.size() / 2], times[times.size() * 99 / 100], times.back());
}

struct memory {
  std::size_t first = 0;
  std::size_t most = 0;
  std::size_t last = 0;
  void look(std::size_t kb) {
    if (first == 0) first = kb;
    most = std::max(most, kb);
    last = kb;
  }
};

void wait_out(std::chrono::seconds span, const std::atomic<bool>& interrupted,
              const std::function<void()>& meanwhile) {
  for (const auto until = clock::now() + span; clock::now() < until && !interrupted;) {
    meanwhile();
    std::this_thread::sleep_for(std::min<clock::duration>(500ms, until - clock::now()));
  }
}

/// The time from the return of the server until the first delivery.
clock::duration bring_back(const std::string& server, const std::function<bool()>& is_open,
                           const history& deliveries) {
  std::thread starter{[&] { services({"start", server}); }};
  const auto before = deliveries.deliveries();
  eventually(server + " is open", is_open, outage_limit);
  const auto open = clock::now();
  starter.join();
  eventually(
      "events are delivered again", [&] { return deliveries.deliveries() > before; }, outage_limit);
  return clock::now() - open;
}

}  // namespace

int run_outage(const options& how, const std::atomic<bool>& interrupted) {
  const auto stop = [&] { return interrupted.load(); };
  arena where{how.outboxd, how.logs, queue_type::classic, how.form.shards, how.form.partitioned};
  keeper guard;
  history deliveries;
  recorder records{where, deliveries};
  std::vector<std::unique_ptr<relay>> relays;
  for (int i = 1; i <= how.form.relays; ++i)
    relays.push_back(std::make_unique<relay>(i, where, relay_settings{.lanes = 4, .batch = 500}, guard));
  surroundings all{where, relays, records};
  for (const auto& one : relays) one->start();
  for (const auto& one : relays)
    if (!one->await_connected(outage_limit))
      throw std::runtime_error{"a relay does not connect: see its log"};

  writers load{where,
               {.seed = how.seed,
                .writers = 2,
                .aggregates = how.aggregates,
                .bad = 0,
                .odd = 0,
                .refused = false,
                .longest_pause = 100ms}};
  std::vector<memory> used(relays.size());
  const auto look = [&] {
    for (std::size_t i = 0; i < relays.size(); ++i) used[i].look(relays[i]->now().resident_kb);
  };
  // During the first seconds, caches are filled and heaps grow.
  wait_out(5s, interrupted, [] {});
  const auto began = clock::now();
  wait_out(calm, interrupted, look);
  const auto down = clock::now();
  services({"stop", "rabbitmq"});
  wait_out(how.outage, interrupted, look);
  const auto up = clock::now();
  const auto grown = used;
  const auto resumed = bring_back(
      "rabbitmq", [&] { return accepts(where.broker_port()); }, deliveries);
  look();
  wait_out(calm, interrupted, look);
  services({"stop", "postgres"});
  const auto url = required_environment("OUTBOXD_DATABASE_URL");
  const auto resumed_with_database = bring_back(
      "postgres", [&] { return PQping(url.c_str()) == PQPING_OK; }, deliveries);
  load.stop();
  const auto drain = await_drained(all, stop);
  if (interrupted) return 130;
  auto violations = drain.violations;
  look();
  if (!records.drain(outage_limit)) violations.push_back("the recorder did not get to the end of the queue");
  for (auto& one : stop_all(all)) violations.push_back(std::move(one));

  auto session = where.connect();
  const auto report = deliveries.check(committed_events(session));
  const auto attempts = session.number("SELECT coalesce(sum(attempts), 0) FROM outbox.event");
  if (!report.sound()) violations.push_back(report.words());
  if (attempts != 0) violations.push_back(fmt::format("{} attempts were used", attempts));
  if (report.dead != 0) violations.push_back(fmt::format("{} events are dead", report.dead));
  const auto by_writers = load.all();
  fmt::print(
      "An outage of {:.0f} s: {} attempts used, {} dead, {} committed, {} delivered, {} duplicates.\n"
      "Delivery resumed {:.1f} s after the broker's port was open, and after a restart of PostgreSQL {:.1f} "
      "s after it"
      " accepted connections; {} events were left at the end and drained in {:.1f} s.\n"
      "Writers before: {}\nWriters during: {}\n",
      seconds(up - down), attempts, report.dead, report.committed, report.delivered, report.duplicates,
      seconds(resumed), seconds(resumed_with_database), drain.backlog, seconds(drain.took),
      commits_between(by_writers, began, down), commits_between(by_writers, down, up));
  for (std::size_t i = 0; i < used.size(); ++i) {
    fmt::print(
        "Relay {}: {:.1f} MB before, {:.1f} MB after the outage, at most {:.1f} MB, {:.1f} MB at the end\n",
        i + 1, static_cast<double>(used[i].first) / 1024, static_cast<double>(grown[i].last) / 1024,
        static_cast<double>(used[i].most) / 1024, static_cast<double>(used[i].last) / 1024);
    if (grown[i].most > grown[i].first + flat_while_down_kb)
      violations.push_back(
          fmt::format("relay {} has grown by {} kB in the outage", i + 1, grown[i].most - grown[i].first));
    if (used[i].most > used[i].first + flat_kb)
      violations.push_back(fmt::format("relay {} has grown by {} kB", i + 1, used[i].most - used[i].first));
  }
  for (const auto& one : violations) fmt::print("VIOLATION: {}\n", one);
  fmt::print("{}\n", violations.empty() ? "No violation." : "To see it again: " + how.command());
  return violations.empty() ? 0 : 1;
}

}  // namespace outboxd::chaos
