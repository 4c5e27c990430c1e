#include "app/daemon/relay_endpoints.hpp"

#include <fmt/chrono.h>

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

endpoints endpoints_of(const relay::relay& of) {
  return {
      .unhealthy = [&of] { return of.stuck(); },
      .readiness = [&of] { return readiness_of(of.figures()); },
      .metrics = [&of] { return to_metrics(of.figures()); },
      .status = [&of] { return status_of(of.figures()); },
  };
}

}  // namespace outboxd::app
