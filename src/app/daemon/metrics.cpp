#include "app/daemon/metrics.hpp"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <cmath>
#include <limits>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "app/daemon/process_figures.hpp"

namespace outboxd::app {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

using label = std::pair<std::string, std::string>;

ClientMetric sample(MetricType type, double value, const std::optional<label>& with = std::nullopt) {
  ClientMetric out;
  if (with) out.label.push_back({with->first, with->second});
  if (type == MetricType::Counter) out.counter.value = value;
  if (type == MetricType::Gauge) out.gauge.value = value;
  return out;
}

ClientMetric sample(const histogram& from) {
  ClientMetric out;
  out.histogram.sample_count = from.count();
  out.histogram.sample_sum = from.sum();
  std::uint64_t below = 0;
  for (std::size_t i = 0; i < from.counts().size(); ++i) {
    below += from.counts()[i];
    const double bound =
        i < histogram::bounds.size() ? histogram::bounds[i] : std::numeric_limits<double>::infinity();
    out.histogram.bucket.push_back({below, bound});
  }
  return out;
}

double seconds(std::chrono::system_clock::time_point at) {
  return std::chrono::duration<double>(at.time_since_epoch()).count();
}

class exposition {
 public:
  // Sets the outbox of the following samples; empty: the process, or the only outbox.
  void of_outbox(const std::string& name) { outbox_ = name; }

  void family(const std::string& name, std::string help, MetricType type, std::vector<ClientMetric> metrics) {
    add("outboxd_" + name, std::move(help), type, std::move(metrics));
  }
  template <class Number>
  void counter(std::string name, std::string help, Number value) {
    family(std::move(name), std::move(help), MetricType::Counter,
           {sample(MetricType::Counter, static_cast<double>(value))});
  }
  template <class Number>
  void gauge(std::string name, std::string help, Number value) {
    family(std::move(name), std::move(help), MetricType::Gauge,
           {sample(MetricType::Gauge, static_cast<double>(value))});
  }
  // Omits the metric until the event has happened, because 0 would mean 1970.
  void time(std::string name, std::string help, std::optional<std::chrono::system_clock::time_point> at) {
    if (at) gauge(std::move(name), std::move(help), seconds(*at));
  }
  void times(std::string name, std::string help, const histogram& from) {
    family(std::move(name), std::move(help), MetricType::Histogram, {sample(from)});
  }
  // Metrics of the process have no prefix, because all exporters use the same names.
  void process(std::string name, std::string help, MetricType type, double value) {
    add(std::move(name), std::move(help), type, {sample(type, value)});
  }
  std::string text() const { return prometheus::TextSerializer().Serialize(all_); }

 private:
  // One family contains the samples of all outboxes, as Prometheus' format requires.
  void add(std::string name, std::string help, MetricType type, std::vector<ClientMetric> metrics) {
    const auto [at, first] = places_.try_emplace(name, all_.size());
    if (first) all_.push_back({std::move(name), std::move(help), type, {}});
    for (auto& one : metrics) {
      if (!outbox_.empty()) one.label.insert(one.label.begin(), {"outbox", outbox_});
      all_[at->second].metric.push_back(std::move(one));
    }
  }

  std::string outbox_;
  std::vector<MetricFamily> all_;
  std::unordered_map<std::string, std::size_t> places_;  // index of each family in all_
};

void add_events(exposition& to, const relay::counts& of) {
  std::vector<ClientMetric> by_route;
  for (const auto& [route, events] : of.published_by_route)
    by_route.push_back(sample(MetricType::Counter, static_cast<double>(events),
                              route.empty() ? std::optional<label>() : label("route", route)));
  to.family("events_published_total", "Events acknowledged by the broker and marked as published, by route.",
            MetricType::Counter, std::move(by_route));
  to.counter("events_dead_total", "Events that became dead.", of.dead);
  to.counter("events_changed_after_send_total",
             "Published events whose rows were changed after they were sent.", of.changed_after_send);
  std::vector<ClientMetric> by_reason;
  for (std::size_t i = 0; i < all_failures.size(); ++i)
    by_reason.push_back(sample(MetricType::Counter, static_cast<double>(of.failures[i]),
                               label("reason", name_of(all_failures[i]))));
  to.family("publish_failures_total", "Failures to publish an event, by last_error_code.",
            MetricType::Counter, std::move(by_reason));
  to.times(
      "delivery_seconds",
      "Time from the start of the transaction that inserted an event to its confirm, on PostgreSQL's clock.",
      of.delivery_times);
  to.time("last_published_timestamp_seconds", "When an event was last marked as published.",
          of.last_published);
}

void add_database(exposition& to, const relay::relay_figures& of) {
  to.gauge("database_up", "1 if PostgreSQL is connected.", of.database_up);
  to.counter("reads_total", "Reads of new events.", of.so_far.reads);
  to.times("read_seconds", "Duration of round trips that read new events.", of.so_far.read_times);
  to.counter("marks_total", "Round trips that marked events as published.", of.so_far.marks);
  to.counter("notifications_total", "Notifications received.", of.so_far.notifications);
  to.counter("sweeps_total", "Polls at relay.sweep_interval by this relay's leaders.", of.so_far.sweeps);
  to.time("last_sweep_timestamp_seconds", "When a leader of this relay last polled at relay.sweep_interval.",
          of.so_far.last_sweep);
  to.gauge("doorbell_asleep", "Shards led with an idle leader, which writers notify.", of.asleep);
  if (of.notification_queue_usage)
    to.gauge(
        "notification_queue_usage",
        "How full PostgreSQL's notification queue is, from 0 to 1; all databases of the server share it.",
        *of.notification_queue_usage);
  to.gauge("unsettled_events",
           "Events in this relay's memory: read, but their outcome is not yet in the table.", of.unsettled);
  to.gauge("paused", "Pauses in force.", of.paused.size());
  to.gauge("held_aggregates", "Aggregates with blocked events.", of.held_aggregates);
}

void add_lead(exposition& to, const relay::relay_figures& of) {
  to.gauge("shards", "Shards of the outbox, as far as this relay knows.", of.shards);
  to.gauge("shards_led", "Shards that this relay leads.", of.shards_led);
  to.gauge("relays", "Relays that could lead, as this relay last counted them.", of.relays);
  to.counter("takeovers_total", "Times that this relay became the leader of a shard.", of.so_far.takeovers);
}

void add_broker(exposition& to, const relay::relay_figures& of) {
  to.gauge("broker_up", "1 if RabbitMQ is connected.", of.broker_up);
  to.gauge("broker_blocked", "1 while RabbitMQ blocks publishing on a connection.", of.broker_blocked);
  to.time("client_certificate_expiry_timestamp_seconds",
          "When the client certificate last shown to RabbitMQ expires.", of.certificate_expires);
  to.family("lanes", "Connections to RabbitMQ by state.", MetricType::Gauge,
            {sample(MetricType::Gauge, static_cast<double>(of.lanes_open), label("state", "open")),
             sample(MetricType::Gauge, static_cast<double>(of.lanes_blocked), label("state", "blocked")),
             sample(MetricType::Gauge, static_cast<double>(of.lanes_down), label("state", "down"))});
  to.gauge("confirms_in_flight", "Messages published and not yet confirmed.", of.in_flight);
  to.times("publish_seconds", "Time from sending a message to its confirm.", of.publish_times);
  to.gauge("destinations_down", "Exchanges and routing keys that do not accept events.",
           of.destinations_down);
  to.family(
      "reconnects_total", "Lost connections, by peer.", MetricType::Counter,
      {sample(MetricType::Counter, static_cast<double>(of.so_far.database_losses), label("peer", "database")),
       sample(MetricType::Counter, static_cast<double>(of.so_far.broker_losses), label("peer", "broker"))});
}

// Omits the time of the last run until there is one, like exposition::time.
void add_retention(exposition& to, const relay::counts& of) {
  std::vector<ClientMetric> rows;
  std::vector<ClientMetric> times;
  for (const auto what : relay::all_prunable) {
    const auto i = static_cast<std::size_t>(what);
    const label with("what", relay::name_of(what));
    rows.push_back(sample(MetricType::Counter, static_cast<double>(of.pruned[i]), with));
    if (of.last_pruned[i]) times.push_back(sample(MetricType::Gauge, seconds(*of.last_pruned[i]), with));
  }
  to.family("pruned_total", "Rows that retention has deleted.", MetricType::Counter, std::move(rows));
  if (!times.empty())
    to.family("last_prune_timestamp_seconds", "When retention last had nothing left to delete.",
              MetricType::Gauge, std::move(times));
}

void add_table(exposition& to, const relay::table_sample& of) {
  const auto count = [](std::string status, std::int64_t events) {
    return sample(MetricType::Gauge, static_cast<double>(events), label("status", std::move(status)));
  };
  to.family("events", "Events in the table by status; published ones are estimated.", MetricType::Gauge,
            {count("pending", of.pending), count("waiting", of.waiting), count("published", of.published),
             count("dead", of.dead)});
  to.gauge("backlog_events", "Events that are due and not published.", of.backlog);
  to.gauge("backlog_is_estimate", "1 if backlog_events is an estimate.", of.backlog_is_estimate);
  to.gauge("oldest_due_age_seconds", "How long the oldest due event has been due; 0 if none is due.",
           of.oldest_due_seconds);
  to.gauge("oldest_waiting_age_seconds",
           "Age of the oldest event that backs off or is blocked by one that does; 0 if there is none.",
           of.oldest_waiting_seconds);
  to.gauge("oldest_failing_age_seconds",
           "Time since the first failure of the event that has waited longest for its destination; 0 if none "
           "waits.",
           of.oldest_failing_seconds);
  to.time("sample_timestamp_seconds", "When the table was last sampled.", of.at);
}

void add_process(exposition& to) {
  const process_figures of = read_process_figures();
  to.process("process_cpu_seconds_total", "CPU time, user and system.", MetricType::Counter, of.cpu_seconds);
  to.process("process_resident_memory_bytes", "Resident memory.", MetricType::Gauge, of.resident_bytes);
  to.process("process_open_fds", "Open file descriptors.", MetricType::Gauge, of.open_descriptors);
  to.process("process_start_time_seconds", "Start of the process.", MetricType::Gauge, of.start_time);
}

void add_ready(exposition& to, const relay::relay_figures& from) {
  to.gauge("ready", "1 if events can be published: see /readyz.", from.obstacles.empty());
}

void add_outbox(exposition& to, const relay::relay_figures& from) {
  add_events(to, from.so_far);
  add_database(to, from);
  add_lead(to, from);
  add_broker(to, from);
  add_retention(to, from.so_far);
  add_ready(to, from);
  if (from.table) add_table(to, *from.table);
}

}  // namespace

std::string to_metrics(const std::vector<outbox_view>& from) {
  exposition to;
  for (const auto& [name, runs, now] : from) {
    to.of_outbox(name);
    if (runs) add_outbox(to, now);
    if (!runs) add_ready(to, now);
  }
  to.of_outbox("");
  ClientMetric build = sample(MetricType::Gauge, 1, label("version", OUTBOXD_VERSION));
  to.family("build_info", "Always 1.", MetricType::Gauge, {std::move(build)});
  add_process(to);
  return to.text();
}

}  // namespace outboxd::app
