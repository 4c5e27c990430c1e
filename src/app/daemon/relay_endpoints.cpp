#include "app/daemon/relay_endpoints.hpp"

#include <fmt/chrono.h>

#include <algorithm>

#include "app/daemon/metrics.hpp"
#include "app/operate/pausing.hpp"

namespace outboxd::app {
namespace {

using nlohmann::json;

json seconds_of(const std::optional<std::chrono::system_clock::time_point>& at) {
  if (!at) return nullptr;
  return std::chrono::duration<double>(at->time_since_epoch()).count();
}

json table_of(const relay::table_sample& from) {
  return {
      {"sample_timestamp_seconds", seconds_of(from.at)},
      {"backlog_events", from.backlog},
      {"backlog_is_estimate", from.backlog_is_estimate},
      {"oldest_due_age_seconds", from.oldest_due_seconds},
      {"oldest_waiting_age_seconds", from.oldest_waiting_seconds},
      {"oldest_failing_age_seconds", from.oldest_failing_seconds},
      {"events",
       {{"pending", from.pending},
        {"waiting", from.waiting},
        {"published", from.published},
        {"dead", from.dead}}},
  };
}

json told(const std::vector<relay::obstacle>& all) {
  json out = json::array();
  for (const auto& one : all)
    out.push_back({{"code", one.code},
                   {"message", one.message},
                   {"since", fmt::format("{:%FT%TZ}", std::chrono::floor<std::chrono::seconds>(one.since))}});
  return out;
}

json paused_in(const relay::relay_figures& from) {
  json out = json::array();
  for (const flow::pause& one : from.paused) out.push_back(words_of(one));
  return out;
}

}  // namespace

json readiness_of(const relay::relay_figures& from) {
  return {{"ready", from.obstacles.empty()},
          {"reasons", told(from.obstacles)},
          {"warnings", told(from.warnings)},
          {"paused", paused_in(from)}};
}

json status_of(const relay::relay_figures& from) {
  const relay::counts& all = from.so_far;
  json out = {
      {"version", OUTBOXD_VERSION},
      {"shards", from.shards},
      {"shards_led", from.shards_led},
      {"relays", from.relays},
      {"doorbell_asleep", from.asleep},
      {"database_up", from.database_up},
      {"broker_up", from.broker_up},
      {"broker_blocked", from.broker_blocked},
      {"lanes", {{"open", from.lanes_open}, {"blocked", from.lanes_blocked}, {"down", from.lanes_down}}},
      {"confirms_in_flight", from.in_flight},
      {"unsettled_events", from.unsettled},
      {"held_aggregates", from.held_aggregates},
      {"destinations_down", from.destinations_down},
      {"events_published_total", all.published},
      {"events_dead_total", all.dead},
      {"takeovers_total", all.takeovers},
      {"last_published_timestamp_seconds", seconds_of(all.last_published)},
      {"last_sweep_timestamp_seconds", seconds_of(all.last_sweep)},
      {"table", from.table ? table_of(*from.table) : json(nullptr)},
  };
  out.update(readiness_of(from));
  return out;
}

json readiness_of(const std::vector<outbox_view>& from, const std::vector<std::string>& required) {
  json out{{"ready", false},
           {"reasons", json::array()},
           {"warnings", json::array()},
           {"paused", json::array()},
           {"outboxes", json::object()}};
  for (const auto& one : from) {
    const auto of_one = readiness_of(one.now);
    out["outboxes"][one.name] = of_one.at("ready");
    for (const char* list : {"reasons", "warnings", "paused"})
      for (auto each : of_one.at(list)) {
        each["outbox"] = one.name;
        out[list].push_back(std::move(each));
      }
  }
  auto& ready = out["outboxes"];
  for (const auto& name : required)
    if (!ready.contains(name))
      out["reasons"].push_back({{"code", "configuration"},
                                {"message", "http.ready_requires names an outbox that is not configured"},
                                {"outbox", name}});
  const auto is_ready = [&](const std::string& name) { return ready.value(name, false); };
  out["ready"] = required.empty() ? std::any_of(from.begin(), from.end(),
                                                [&](const auto& one) { return is_ready(one.name); })
                                  : std::all_of(required.begin(), required.end(), is_ready);
  return out;
}

json status_of(const std::vector<outbox_view>& from, const std::vector<std::string>& required) {
  json out = readiness_of(from, required);
  out["version"] = OUTBOXD_VERSION;
  out["outboxes"] = json::object();
  for (const auto& one : from) {
    auto of_one = one.runs ? status_of(one.now) : readiness_of(one.now);
    of_one.erase("version");
    out["outboxes"][one.name] = std::move(of_one);
  }
  return out;
}

endpoints endpoints_of(const relay_host& of) {
  return {
      .unhealthy = [&of] { return of.stuck(); },
      .readiness =
          [&of] {
            const auto all = of.view();
            return of.many() ? readiness_of(all, of.required()) : readiness_of(all.front().now);
          },
      .metrics = [&of] { return to_metrics(of.view()); },
      .status =
          [&of] {
            const auto all = of.view();
            return of.many() ? status_of(all, of.required()) : status_of(all.front().now);
          },
  };
}

}  // namespace outboxd::app
