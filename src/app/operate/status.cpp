#include "app/operate/status.hpp"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>

#include "app/operate/pausing.hpp"
#include "core/text.hpp"

namespace outboxd::app {
namespace {

using nlohmann::json;

// The text of a field, escaped because it is untrusted; `otherwise` if the field has no text.
std::string text(const json& of, const char* key, std::string_view otherwise = "") {
  const auto found = of.find(key);
  if (found == of.end() || !found->is_string()) return std::string(otherwise);
  return escaped(found->get_ref<const std::string&>());
}

std::string counted(const json& one) {
  const auto count = one.at("count").get<std::int64_t>();
  return one.at("exact").get<bool>() ? fmt::format("{}", count) : fmt::format("about {}", count);
}

std::string age(const json& seconds) {
  return seconds.is_null() ? "none" : words_of_seconds(seconds.get<double>());
}

std::string size(double bytes) {
  constexpr std::array units{"bytes", "kB", "MB", "GB", "TB"};
  constexpr double step = 1024;
  std::size_t unit = 0;
  for (; bytes >= step && unit + 1 < units.size(); ++unit) bytes /= step;
  return fmt::format("{:.{}f} {}", bytes, unit == 0 ? 0 : 1, units.at(unit));
}

void line(std::string& out, std::string_view title, const std::string& value) {
  out += fmt::format("{:<22}{}\n", title, value);
}

void show_events(std::string& out, const json& status) {
  const auto& events = status.at("events");
  const auto& waiting = events.at("waiting");
  line(out, "pending", counted(events.at("pending")));
  line(out, "waiting",
       fmt::format("{}  (backing off {}, blocked {}, scheduled {})", counted(waiting),
                   waiting.at("backing_off").get<std::int64_t>(), waiting.at("parked").get<std::int64_t>(),
                   waiting.at("scheduled").get<std::int64_t>()));
  line(out, "dead", counted(events.at("dead")));
  line(out, "published", counted(events.at("published")));
  line(out, "in the last minute", counted(status.at("published_last_minute")));
  line(out, "oldest due", age(status.at("oldest_due_age_seconds")));
  line(out, "oldest waiting", age(status.at("oldest_waiting_age_seconds")));
  bool first = true;
  for (const auto& one : status.at("waits_by_destination")) {
    line(out, first ? "wait most at" : "",
         fmt::format(
             "{}: {} at {} with key {}{}", text(one, "code", "no code"), one.at("events").get<std::int64_t>(),
             one.at("exchange").is_null() ? "the exchange of their route"
                                          : fmt::format("exchange \"{}\"", text(one, "exchange")),
             text(one, "routing_key"),
             one.at("failing_since").is_null() ? "" : ", failing since " + text(one, "failing_since")));
    first = false;
  }
}

std::string place_of(const json& relay, const char* address) {
  if (relay.value("hidden", false)) return "address hidden, see pg_read_all_stats";
  return text(relay, address, "local socket");
}

void show_pauses(std::string& out, const json& status) {
  for (const auto& one : status.at("paused"))
    line(out, "paused", words_of(pause_from(one)) + ", by " + text(one, "who", "?"));
}

void show_relays(std::string& out, const json& status) {
  for (const auto& shard : status.at("shards"))
    line(out, fmt::format("shard {}", shard.at("shard").get<int>()),
         shard.at("leader").is_null()
             ? "nobody leads it"
             : fmt::format("led by {} (pid {}), {}", text(shard, "leader"), shard.at("leader_pid").get<int>(),
                           text(shard, "doorbell")));
  for (const auto& shard : status.at("shards"))
    if (const auto events = shard.at("unwritten").get<std::int64_t>(); events > 0)
      line(out, "not written",
           fmt::format("what has become of {} of shard {}: PostgreSQL refuses it, and the log of its leader "
                       "and /readyz say why",
                       events == 1 ? "an event" : fmt::format("{} events", events),
                       shard.at("shard").get<int>()));
  for (const auto& relay : status.at("relays")) {
    std::string leads;
    for (const auto& shard : relay.at("leads")) leads += fmt::format(" {}", shard.get<int>());
    const auto ready = relay.at("ready_to_lead").get<int>();
    line(out, "relay",
         fmt::format("{} ({}), {}{}", text(relay, "name"), place_of(relay, "address"),
                     leads.empty() ? "standby" : "leads shard" + leads,
                     ready == 0  ? ", not ready to lead"
                     : ready > 1 ? fmt::format(", {} ready to lead", ready)
                                 : ""));
  }
  if (status.at("relays").empty()) line(out, "relays", "none");
}

// Describes a session that waits for its lock, or still holds a lead that its relay has given up.
std::string rest_of(const json& one) {
  if (!one.at("behind").is_null()) return fmt::format(", behind pid {}", one.at("behind").get<int>());
  const auto waits_for = text(one, "waits_for");
  return waits_for.empty() ? ""
                           : ": its relay has given up the shard, but its session waits for " + waits_for;
}

void show_lock_holders(std::string& out, const json& status) {
  for (const auto& one : status.at("culprits"))
    line(out, "in the way",
         fmt::format("pid {} (user {}, application {}) {} {} and keeps relays from {}{}",
                     one.at("pid").is_null() ? 0 : one.at("pid").get<int>(), text(one, "user", "?"),
                     text(one, "application", "?"), one.at("behind").is_null() ? "holds" : "waits for",
                     text(one, "mode"), text(one, "keeps_from"), rest_of(one)));
}

void show_snapshot(std::string& out, const json& status) {
  const auto& oldest = status.at("oldest_snapshot");
  std::string words = "none";
  if (!oldest.is_null())
    words =
        fmt::format("{} {}{}, {}{} transactions ago", text(oldest, "kind"), text(oldest, "name"),
                    oldest.at("pid").is_null() ? "" : fmt::format(" (pid {})", oldest.at("pid").get<int>()),
                    oldest.at("age_seconds").is_null() ? "" : age(oldest.at("age_seconds")) + ", ",
                    oldest.at("transactions").get<std::int64_t>());
  if (const auto hidden = status.at("hidden_sessions").get<std::int64_t>(); hidden > 0)
    words += fmt::format("; {} sessions are hidden from this user (grant pg_read_all_stats)", hidden);
  line(out, "oldest snapshot", words);
}

void show_table(std::string& out, const json& status) {
  const auto& table = status.at("table");
  const auto rows = [&](const char* key) {
    return table.at(key).is_null() ? 0 : table.at(key).get<std::int64_t>();
  };
  line(out, "table",
       fmt::format("{}, indexes {}, dead rows {} beside {} live ones, autovacuum {}",
                   size(table.at("table_bytes").get<double>()), size(table.at("index_bytes").get<double>()),
                   rows("dead_rows"), rows("live_rows"), text(table, "last_autovacuum", "never")));
}

void show_partitions(std::string& out, const json& status) {
  const auto& all = status.at("partitions");
  if (all.is_null()) return;
  const auto& oldest = all.at("oldest");
  std::string words = fmt::format("{}, {} in use", text(all, "period"), all.at("count").get<std::int64_t>());
  if (!oldest.is_null())
    words += fmt::format("; the oldest, {}, began {}{}", text(oldest, "name"), text(oldest, "began_at"),
                         oldest.at("dead").get<bool>()      ? ", and stays for its dead events"
                         : oldest.at("waiting").get<bool>() ? ", and stays for events that wait"
                         : oldest.at("next").is_null()
                             ? ""
                             : ", and stays until retention.published has passed for all of it");
  line(out, "partitions", words);
}

}  // namespace

json look_at_outbox(operator_session& session, const relay::postgres_settings& at,
                    std::span<const std::string_view> parts) {
  json out{{"schema", at.schema.name()}, {"errors", json::array()}};
  for (const std::string_view part : parts) {
    std::vector<std::string> parameters;
    if (part == "lock_holders") parameters.push_back(std::to_string(at.claim_timeout.count()));
    // This query would wait for a lock on the table, whose holder is named anyway.
    const auto named = out.value("culprits", json::array());
    if (part == "row_holders" && !named.empty()) continue;
    const auto answer = session.ask(part, parameters);
    if (!answer) {
      out["errors"].push_back(answer.error().message);
    } else if (*answer) {
      out.update(json::parse(**answer));
    }
  }
  return out;
}

std::string words_of_seconds(double seconds) {
  constexpr std::int64_t minute = 60;
  constexpr std::int64_t hour = 60 * minute;
  constexpr std::int64_t day = 24 * hour;
  const auto whole = static_cast<std::int64_t>(seconds);
  if (seconds < 10) return fmt::format("{:.1f} s", seconds);
  if (whole < minute) return fmt::format("{} s", whole);
  if (whole < hour) return fmt::format("{} min {} s", whole / minute, whole % minute);
  if (whole < day) return fmt::format("{} h {} min", whole / hour, whole % hour / minute);
  return fmt::format("{} d {} h", whole / day, whole % day / hour);
}

std::string status_view(const json& status) {
  std::string out;
  line(out, "schema", text(status, "schema"));
  if (status.contains("events")) show_events(out, status);
  if (status.contains("paused")) show_pauses(out, status);
  if (status.contains("relays")) show_relays(out, status);
  if (status.contains("culprits")) show_lock_holders(out, status);
  if (status.contains("oldest_snapshot")) show_snapshot(out, status);
  if (status.contains("table")) show_table(out, status);
  if (status.contains("partitions")) show_partitions(out, status);
  for (const auto& one : status.at("errors"))
    line(out, "not known", escaped(one.get_ref<const std::string&>()));
  return out;
}

}  // namespace outboxd::app
