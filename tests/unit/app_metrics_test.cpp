// app_metrics_test: every name of the contract is exported, every label value from the start.
#include "app/daemon/metrics.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <string_view>

#include "app/daemon/span_steps.hpp"
#include "core/failure.hpp"

namespace app_metrics_test {

using namespace outboxd;
using namespace std::chrono_literals;

namespace {

std::string metrics_of(const relay::relay_figures& now) {
  return app::to_metrics({{.name = "", .runs = true, .now = now}});
}

// The value of a series; fails the test if it is not there, or there twice.
std::string value_of(const std::string& text, const std::string& series) {
  std::istringstream lines(text);
  std::string found;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(series + " ")) continue;
    CHECK_MESSAGE(found.empty(), series << " is there twice");
    found = line.substr(series.size() + 1);
  }
  CHECK_MESSAGE(!found.empty(), series << " is missing");
  return found;
}

bool has_family(const std::string& text, std::string_view name) {
  return text.find("# TYPE " + std::string(name) + " ") != std::string::npos;
}

// The page's table: name, type. Names of the page with the prefix of its metric.
std::map<std::string, std::string> documented() {
  std::ifstream page(OUTBOXD_SOURCE_DIR "/docs/metrics.md");
  std::map<std::string, std::string> out;
  for (std::string line; std::getline(page, line);) {
    std::smatch found;
    if (std::regex_match(line, found, std::regex(R"(\| `(\w+)` \| (\w+) \|.*)"))) out[found[1]] = found[2];
  }
  return out;
}

std::map<std::string, std::string> exported() {
  relay::relay_figures it;
  it.table.emplace();
  it.notification_queue_usage = 0;
  it.certificate_expires = std::chrono::system_clock::now();
  it.so_far.last_published = it.so_far.last_sweep = std::chrono::system_clock::now();
  it.so_far.last_pruned.fill(std::chrono::system_clock::now());
  std::istringstream lines(metrics_of(it) + app::span_metrics(otlp::span_counts()));
  std::map<std::string, std::string> out;
  for (std::string line; std::getline(lines, line);) {
    std::smatch found;
    if (std::regex_match(line, found, std::regex(R"(# TYPE (\w+) (\w+))"))) out[found[1]] = found[2];
  }
  return out;
}

}  // namespace

TEST_CASE("docs/metrics.md has every metric with its type, and no other") {
  CHECK(documented().size() > 30);
  CHECK(exported() == documented());
}

TEST_CASE("a relay that has done nothing exports all names, and every reason and state as 0") {
  const auto text = metrics_of({});
  for (const auto* const name : {"events_published_total",
                                 "publish_failures_total",
                                 "events_dead_total",
                                 "events_changed_after_send_total",
                                 "confirms_in_flight",
                                 "held_aggregates",
                                 "delivery_seconds",
                                 "publish_seconds",
                                 "reads_total",
                                 "read_seconds",
                                 "marks_total",
                                 "shards_led",
                                 "shards",
                                 "relays",
                                 "takeovers_total",
                                 "notifications_total",
                                 "sweeps_total",
                                 "doorbell_asleep",
                                 "lanes",
                                 "database_up",
                                 "broker_up",
                                 "broker_blocked",
                                 "reconnects_total",
                                 "build_info",
                                 "destinations_down",
                                 "pruned_total",
                                 "ready"})
    CHECK_MESSAGE(has_family(text, "outboxd_" + std::string(name)), name);
  for (const auto* const name : {"process_cpu_seconds_total", "process_resident_memory_bytes",
                                 "process_open_fds", "process_start_time_seconds"})
    CHECK_MESSAGE(has_family(text, name), name);
  for (const failure why : all_failures)
    CHECK(value_of(text, "outboxd_publish_failures_total{reason=\"" + std::string(name_of(why)) + "\"}") ==
          "0");
  for (const auto* const state : {"open", "blocked", "down"})
    CHECK(value_of(text, "outboxd_lanes{state=\"" + std::string(state) + "\"}") == "0");
  for (const auto* const what : {"published", "processed", "partitions"})
    CHECK(value_of(text, "outboxd_pruned_total{what=\"" + std::string(what) + "\"}") == "0");
  for (const auto* const peer : {"database", "broker"})
    CHECK(value_of(text, "outboxd_reconnects_total{peer=\"" + std::string(peer) + "\"}") == "0");
}

TEST_CASE("the list of all failures has the name of each once") {
  std::set<std::string_view> names;
  for (int value = 0; !name_of(static_cast<failure>(value)).empty(); ++value)
    names.insert(name_of(static_cast<failure>(value)));
  std::set<std::string_view> listed;
  for (const failure why : all_failures) CHECK(listed.insert(name_of(why)).second);
  CHECK(names == listed);
}

TEST_CASE("what happens once in a while is left out until it has happened") {
  relay::relay_figures it;
  CHECK_FALSE(has_family(metrics_of(it), "outboxd_last_published_timestamp_seconds"));
  it.so_far.last_published = std::chrono::system_clock::time_point(1'700'000'000s);
  CHECK(std::stod(value_of(metrics_of(it), "outboxd_last_published_timestamp_seconds")) == 1'700'000'000);
}

TEST_CASE("spans are told by what became of them") {
  const auto text = app::span_metrics(otlp::span_counts{.sent = 4, .no_room = 3, .refused = 2, .unsent = 1});
  const auto count = [&](const std::string& result) {
    return value_of(text, "outboxd_otlp_spans_total{result=\"" + result + "\"}");
  };
  CHECK(count("sent") == "4");
  CHECK(count("no_room") == "3");
  CHECK(count("refused") == "2");
  CHECK(count("unsent") == "1");
}

TEST_CASE("what retention has deleted is told by its kind, and when it was done with it") {
  relay::relay_figures it;
  CHECK_FALSE(has_family(metrics_of(it), "outboxd_last_prune_timestamp_seconds"));
  it.so_far.pruned = {7, 2};
  it.so_far.last_pruned[0] = std::chrono::system_clock::time_point(1'700'000'000s);
  const auto text = metrics_of(it);
  CHECK(value_of(text, "outboxd_pruned_total{what=\"published\"}") == "7");
  CHECK(value_of(text, "outboxd_pruned_total{what=\"processed\"}") == "2");
  CHECK(std::stod(value_of(text, "outboxd_last_prune_timestamp_seconds{what=\"published\"}")) ==
        1'700'000'000);
  CHECK(text.find("outboxd_last_prune_timestamp_seconds{what=\"processed\"}") == std::string::npos);
}

TEST_CASE("figures of the table are there for whoever samples it, and for nobody else") {
  relay::relay_figures it;
  CHECK_FALSE(has_family(metrics_of(it), "outboxd_oldest_due_age_seconds"));
  CHECK_FALSE(has_family(metrics_of(it), "outboxd_backlog_events"));
  it.table.emplace();
  it.table->pending = 3;
  it.table->backlog = 5;
  it.table->oldest_due_seconds = 2.5;
  const auto text = metrics_of(it);
  CHECK(value_of(text, "outboxd_events{status=\"pending\"}") == "3");
  CHECK(value_of(text, "outboxd_backlog_events") == "5");
  CHECK(value_of(text, "outboxd_oldest_due_age_seconds") == "2.5");
}

TEST_CASE("buckets are cumulative and end with all") {
  relay::relay_figures it;
  for (const auto one : {1ms, 1ms, 100ms, 7'200'000ms}) it.so_far.delivery_times.add(one);
  const auto text = metrics_of(it);
  CHECK(value_of(text, "outboxd_delivery_seconds_bucket{le=\"0.0005\"}") == "0");
  CHECK(value_of(text, "outboxd_delivery_seconds_bucket{le=\"0.001\"}") == "2");
  CHECK(value_of(text, "outboxd_delivery_seconds_bucket{le=\"3600\"}") == "3");
  CHECK(value_of(text, "outboxd_delivery_seconds_bucket{le=\"+Inf\"}") == "4");
  CHECK(value_of(text, "outboxd_delivery_seconds_count") == "4");
}

TEST_CASE("an obstacle makes the relay not ready") {
  relay::relay_figures it;
  CHECK(value_of(metrics_of(it), "outboxd_ready") == "1");
  it.obstacles.push_back({"broker_down", "away", {}});
  CHECK(value_of(metrics_of(it), "outboxd_ready") == "0");
}

}  // namespace app_metrics_test
