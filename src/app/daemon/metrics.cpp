#include "app/daemon/metrics.hpp"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <cmath>
#include <limits>
#include <optional>
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
  void family(std::string name, std::string help, MetricType type, std::vector<ClientMetric> metrics) {
    all_.push_back({"outboxd_" + std::move(name), std::move(help), type, std::move(metrics)});
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
  // Left out before the first time: 0 would be 1970.
  void time(std::string name, std::string help, std::optional<std::chrono::system_clock::time_point> at) {
    if (at) gauge(std::move(name), std::move(help), seconds(*at));
  }
  void times(std::string name, std::string help, const histogram& from) {
    family(std::move(name), std::move(help), MetricType::Histogram, {sample(from)});
  }
  // The names of a process carry no prefix of ours: every exporter has the same.
  void process(std::string name, std::string help, MetricType type, double value) {
    all_.push_back({std::move(name), std::move(help), type, {sample(type, value)}});
  }
  std::string text() const { return prometheus::TextSerializer().Serialize(all_); }

 private:
  std::vector<MetricFamily> all_;
};

void add_events(exposition& to, const relay::counts& of) {
  std::vector<ClientMetric> by_route;
  for (const auto& [route, events] : of.published_by_route)
    by_route.push_back(sample(MetricType::Counter, static_cast<double>(events),
                              route.empty() ? std::optional<label>() : label("route", route)));
  to.family("events_published_total",
            "Events that the broker has acknowledged and the table says so of, by the route that they took.",
            MetricType::Counter, std::move(by_route));
  to.counter("events_dead_total", "Events that were given up.", of.dead);
  to.counter("events_changed_after_send_total",
             "Published events whose row somebody has changed after they were sent.", of.changed_after_send);
  std::vector<ClientMetric> by_reason;
  for (std::size_t i = 0; i < all_failures.size(); ++i)
    by_reason.push_back(sample(MetricType::Counter, static_cast<double>(of.failures[i]),
                               label("reason", name_of(all_failures[i]))));
  to.family("publish_failures_total", "Times that an event could not be published, by last_error_code.",
            MetricType::Counter, std::move(by_reason));
  to.times("delivery_seconds",
           "From the start of the transaction that inserted an event to its acknowledgement, on the clock of "
           "PostgreSQL.",
           of.delivery_times);
  to.time("last_published_timestamp_seconds", "When an event was last marked published.", of.last_published);
}

void add_database(exposition& to, const relay::relay_figures& of) {
  to.gauge("database_up", "1 if a session with PostgreSQL stands.", of.database_up);
  to.counter("reads_total", "Reads of new events.", of.so_far.reads);
  to.times("read_seconds", "Round trips with a read of new events.", of.so_far.read_times);
  to.counter("marks_total", "Round trips that marked events published.", of.so_far.marks);
  to.counter("notifications_total", "Notifications that rang the doorbell.", of.so_far.notifications);
  to.counter("sweeps_total", "Sweeps by this relay's leaders.", of.so_far.sweeps);
  to.time("last_sweep_timestamp_seconds", "When a leader of this relay last swept.", of.so_far.last_sweep);
  to.gauge("doorbell_asleep", "Shards led whose writers ring because their leader sleeps.", of.asleep);
  if (of.notification_queue_usage)
    to.gauge(
        "notification_queue_usage",
        "How full PostgreSQL's queue of notifications is, from 0 to 1; every database of the server uses "
        "it.",
        *of.notification_queue_usage);
  to.gauge("unsettled_events", "Events read and not yet settled, in this relay's memory.", of.unsettled);
  to.gauge(
      "paused",
      "Event types, aggregate types, exchanges and routing keys, and everything as one, that are paused.",
      of.paused.size());
  to.gauge("held_aggregates", "Aggregates that hold back their later events.", of.held_aggregates);
}

void add_lead(exposition& to, const relay::relay_figures& of) {
  to.gauge("shards", "Shards of the outbox, as far as this relay knows.", of.shards);
  to.gauge("shards_led", "Shards that this relay leads.", of.shards_led);
  to.gauge("relays", "Relays that could lead, as this one has counted them last.", of.relays);
  to.counter("takeovers_total", "Leads that this relay has taken.", of.so_far.takeovers);
}

void add_broker(exposition& to, const relay::relay_figures& of) {
  to.gauge("broker_up", "1 if a connection to RabbitMQ stands.", of.broker_up);
  to.gauge("broker_blocked", "1 while RabbitMQ takes nothing on some connection.", of.broker_blocked);
  to.time("client_certificate_expiry_timestamp_seconds",
          "When the certificate expires that was last shown to RabbitMQ.", of.certificate_expires);
  to.family("lanes", "Connections to RabbitMQ by state.", MetricType::Gauge,
            {sample(MetricType::Gauge, static_cast<double>(of.lanes_open), label("state", "open")),
             sample(MetricType::Gauge, static_cast<double>(of.lanes_blocked), label("state", "blocked")),
             sample(MetricType::Gauge, static_cast<double>(of.lanes_down), label("state", "down"))});
  to.gauge("confirms_in_flight", "Messages published and not confirmed.", of.in_flight);
  to.times("publish_seconds", "From a publish to its acknowledgement.", of.publish_times);
  to.gauge("destinations_down", "Exchanges and routing keys that do not take events.", of.destinations_down);
  to.family(
      "reconnects_total", "Connections that were lost and had to be made again.", MetricType::Counter,
      {sample(MetricType::Counter, static_cast<double>(of.so_far.database_losses), label("peer", "database")),
       sample(MetricType::Counter, static_cast<double>(of.so_far.broker_losses), label("peer", "broker"))});
}

// Left out before the first time, as in exposition::time.
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
  to.gauge("oldest_due_age_seconds", "For how long the oldest due event has been due; 0 if none is.",
           of.oldest_due_seconds);
  to.gauge("oldest_waiting_age_seconds",
           "Age of the oldest event that backs off or waits behind one that does; 0 if none does.",
           of.oldest_waiting_seconds);
  to.gauge("oldest_failing_age_seconds",
           "Time since the first failure of the event that has waited for its destination the longest; 0 if "
           "none waits.",
           of.oldest_failing_seconds);
  to.time("sample_timestamp_seconds", "When the table was last looked at.", of.at);
}

void add_process(exposition& to) {
  const process_figures of = read_process_figures();
  to.process("process_cpu_seconds_total", "CPU time, user and system.", MetricType::Counter, of.cpu_seconds);
  to.process("process_resident_memory_bytes", "Resident memory.", MetricType::Gauge, of.resident_bytes);
  to.process("process_open_fds", "Open file descriptors.", MetricType::Gauge, of.open_descriptors);
  to.process("process_start_time_seconds", "Start of the process.", MetricType::Gauge, of.start_time);
}

}  // namespace

std::string to_metrics(const relay::relay_figures& from) {
  exposition to;
  add_events(to, from.so_far);
  add_database(to, from);
  add_lead(to, from);
  add_broker(to, from);
  add_retention(to, from.so_far);
  to.gauge("ready", "1 if /readyz answers 200.", from.obstacles.empty());
  if (from.table) add_table(to, *from.table);
  ClientMetric build = sample(MetricType::Gauge, 1, label("version", OUTBOXD_VERSION));
  to.family("build_info", "Always 1.", MetricType::Gauge, {std::move(build)});
  add_process(to);
  return to.text();
}

}  // namespace outboxd::app
