#include "app/operate/trace.hpp"

#include <fmt/format.h>

#include "app/operate/event_listing.hpp"
#include "app/operate/status.hpp"
#include "flow/stream/pauses.hpp"

namespace outboxd::app {
namespace {

using nlohmann::json;

struct trace_finding {
  std::string state;
  std::string why;
};

std::string text_or_unknown(const json& of, const char* key, std::string_view otherwise = "not known") {
  const auto& found = of.at(key);
  return found.is_string() ? found.get<std::string>() : std::string(otherwise);
}

bool is_due(const json& event) {
  return event.at("due").get<bool>();
}

std::string until(const json& event) {
  const auto& left = event.at("due_in_seconds");
  return fmt::format("until {}{}", text_or_unknown(event, "available_at"),
                     left.is_null() ? "" : fmt::format(" (in {})", words_of_seconds(left.get<double>())));
}

std::string reason(const json& event) {
  return fmt::format("{} ({})", text_or_unknown(event, "last_error", "no reason is recorded"),
                     text_or_unknown(event, "last_error_code", "no code"));
}

std::string attempts(const json& event) {
  const auto count = event.at("attempts").get<std::int64_t>();
  return fmt::format("{} failed {}", count, count == 1 ? "attempt" : "attempts");
}

bool waits_for_destination(const json& event) {
  const auto found = event.find("waits_for");
  return found != event.end() && found->is_object();
}

// "exchange "shop" with key a.b to take it, since ...; it is dead if that lasts until ...: returned by ..."
std::string waits_words(const json& event) {
  const auto& destination = event.at("waits_for");
  const auto end = text_or_unknown(event, "available_at");
  return fmt::format("exchange \"{}\" with key {} to take it, and has failed since {}; {}: {}",
                     text_or_unknown(destination, "exchange"), text_or_unknown(destination, "routing_key"),
                     text_or_unknown(event, "first_failed_at"),
                     end == "infinity" ? "no time ends that (retry.give_up_after = never)"
                                       : fmt::format("it is dead if this lasts {}", until(event)),
                     reason(event));
}

bool is_paused(const json& event) {
  return event.at("exception") == "backing_off" && event.at("last_error_code") == flow::paused_code &&
         !is_due(event);
}

std::string state_of_other(const json& other) {
  if (is_paused(other)) return "which is paused";
  if (other.at("status") == "dead")
    return fmt::format(
        "which is dead, with relay.after_dead = hold: {}; `outboxd events retry` or `discard` it",
        reason(other));
  if (waits_for_destination(other)) return "which waits for " + waits_words(other);
  if (other.at("exception") == "backing_off" && !is_due(other))
    return fmt::format("which backs off {} after {}: {}", until(other), attempts(other), reason(other));
  if (other.at("exception") == "backing_off")
    return fmt::format("which is due once more after {}: {}", attempts(other), reason(other));
  if (other.at("exception") == "parked") return "which is blocked itself";
  return "which is not published yet";
}

// Explains an event that could be published now, as far as its row shows.
trace_finding explain_due(const json& event) {
  const auto shard = event.at("shard").get<int>();
  if (event.at("leader").is_null())
    return {
        "unled",
        fmt::format("no relay leads its shard {}; start one, or see `outboxd status` for who is in the way",
                    shard)};
  const auto leader = fmt::format("{} (pid {})", text_or_unknown(event.at("leader"), "name"),
                                  event.at("leader").at("pid").get<int>());
  if (const auto& holder = event.at("locked_by"); !holder.is_null())
    return {"locked", fmt::format("another session has locked the row: pid {} (user {}, application {})",
                                  holder.at("pid").dump(), text_or_unknown(holder, "user"),
                                  text_or_unknown(holder, "application"))};
  if (event.at("exception").is_string())
    return {"unread",
            fmt::format("it is due, and goes out when the leader of shard {}, {}, looks for what is due",
                        shard, leader)};
  if (event.at("unsettled").get<bool>() ||
      (event.at("read").get<bool>() && !event.at("younger_than_position").get<bool>()))
    return {"in_memory",
            fmt::format("the leader of shard {}, {}, has read it: it is being sent, or waits for its confirm",
                        shard, leader)};
  if (event.at("read").get<bool>())
    return {"unread",
            fmt::format(
                "its transaction became visible after later events were read; the leader of shard {}, {}, "
                "finds it when it polls next",
                shard, leader)};
  return {"unread",
          fmt::format(
              "the leader of shard {}, {}, has finished everything up to seq {} when it saved last, and this "
              "one has seq {}: it is about to be read, or is being sent",
              shard, leader, event.at("position").is_null() ? "none" : event.at("position").dump(),
              event.at("seq").dump())};
}

trace_finding explain_behind(const json& behind) {
  return {"behind",
          fmt::format("waits behind event {} (seq {}) of its aggregate, {}", text_or_unknown(behind, "id"),
                      behind.at("seq").dump(), state_of_other(behind))};
}

// `behind`: the result of sql/status/behind.sql, or null.
trace_finding explain(const json& event, const json& behind) {
  const auto status = text_or_unknown(event, "status");
  if (status == "published")
    return {"published", fmt::format("published at {}", text_or_unknown(event, "published_at"))};
  if (status == "dead")
    return {"dead", fmt::format("dead after {}: {}; `outboxd events retry --id {}` has it tried again",
                                attempts(event), reason(event), text_or_unknown(event, "id"))};
  if (event.at("exception") == "scheduled" && !is_due(event))
    return {"scheduled", fmt::format("scheduled: it waits {}", until(event))};
  if (is_paused(event))
    return {"paused", "it is paused; `outboxd status` shows by whom, and `outboxd resume` ends that"};
  if (waits_for_destination(event) && !is_due(event))
    return {"backing_off", "waits for " + waits_words(event)};
  if (event.at("exception") == "backing_off" && !is_due(event))
    return {"backing_off",
            fmt::format("backs off {} after {}: {}", until(event), attempts(event), reason(event))};
  if (!behind.is_null()) return explain_behind(behind);
  if (event.at("all_paused").get<bool>())
    return {"paused",
            "everything is paused; `outboxd status` shows by whom, and `outboxd resume --all` ends that"};
  return explain_due(event);
}

json found(json event, json behind, trace_finding finding) {
  event["state"] = std::move(finding.state);
  event["why"] = std::move(finding.why);
  event["behind"] = std::move(behind);
  return event;
}

// Reads as much of the events as PostgreSQL can.
outcome<std::vector<json>> read_in_parts(operator_session& session, const std::string& id) {
  const auto got = read_what_can_be([&](part_read how) {
    return session.execute(
        fmt::format("SELECT {}) FROM {{0}}.event AS e WHERE e.id = $1::uuid ORDER BY e.seq",
                    json_of_event(how)),
        {id});
  });
  if (!got) return tl::make_unexpected(got.error());
  std::vector<json> out;
  for (int row = 0; row < got->rows.size(); ++row) {
    auto event = json::parse(std::string(got->rows.at(row, 0)));
    const bool is_over = event.at("status") == "dead" || event.at("status") == "published";
    auto finding =
        is_over ? explain(event, json())
                : trace_finding{"unreadable",
                                "PostgreSQL cannot read it whole, or not say it in UTF-8: it is dead when a "
                                "relay has come to it"};
    out.push_back(found(std::move(event), json(), std::move(finding)));
  }
  return out;
}

outcome<json> behind_of(operator_session& session, const json& event) {
  if (event.at("status") != "pending" && event.at("status") != "waiting") return json();
  OUTBOXD_TRY(const auto ahead,
              session.ask("behind", {event.at("id").get<std::string>(), event.at("seq").dump()}));
  if (!ahead || event.at("exception") == "scheduled") return json();
  return json::parse(*ahead);
}

}  // namespace

outcome<std::vector<json>> trace_event(operator_session& session, const std::string& id) {
  const auto all = session.ask_all("trace", {id});
  if (!all && all.error().of_a_row) return read_in_parts(session, id);
  if (!all) return tl::make_unexpected(all.error());
  std::vector<json> out;
  for (const std::string& one : *all) {
    auto event = json::parse(one);
    OUTBOXD_TRY(auto behind, behind_of(session, event));
    auto finding = explain(event, behind);
    out.push_back(found(std::move(event), std::move(behind), std::move(finding)));
  }
  return out;
}

outcome<json> trace_missing(operator_session& session, const std::string& id) {
  OUTBOXD_TRY(const auto kept, session.ask("discarded", {id}));
  std::string why = fmt::format("there is no event {} in schema {}", id, session.schema().name());
  if (!kept) {
    why +=
        ": its transaction may still be open or was rolled back, or the event was deleted after it was "
        "published";
    return json{{"id", id}, {"state", "unknown"}, {"why", why}};
  }
  const auto discarded = json::parse(*kept);
  why += fmt::format(
      ": {} discarded it at {}{}", discarded.at("who").get<std::string>(),
      discarded.at("at").get<std::string>(),
      discarded.at("reason").is_null() ? "" : " (" + discarded.at("reason").get<std::string>() + ")");
  return json{{"id", id}, {"state", "discarded"}, {"why", why}};
}

}  // namespace outboxd::app
