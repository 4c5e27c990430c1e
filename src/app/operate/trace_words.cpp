#include "app/operate/trace_words.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "app/operate/status_view.hpp"
#include "flow/stream/pauses.hpp"

namespace outboxd::app {
namespace {

using nlohmann::json;

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
                                       : fmt::format("it is dead if that lasts {}", until(event)),
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
        "which is dead, with relay.after_dead = hold: {}; `outboxd dead retry` or `discard` it",
        reason(other));
  if (waits_for_destination(other)) return "which waits for " + waits_words(other);
  if (other.at("exception") == "backing_off" && !is_due(other))
    return fmt::format("which backs off {} after {}: {}", until(other), attempts(other), reason(other));
  if (other.at("exception") == "backing_off")
    return fmt::format("which is due once more after {}: {}", attempts(other), reason(other));
  if (other.at("exception") == "parked") return "which waits behind an earlier one itself";
  return "which is not published yet";
}

// Of an event that could go out at once, as far as its own row tells.
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
    return {"locked",
            fmt::format("its row is locked by pid {} (user {}, application {})", holder.at("pid").dump(),
                        text_or_unknown(holder, "user"), text_or_unknown(holder, "application"))};
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

}  // namespace

trace_finding explain(const json& event, const json& behind) {
  const auto status = text_or_unknown(event, "status");
  if (status == "published")
    return {"published", fmt::format("published at {}", text_or_unknown(event, "published_at"))};
  if (status == "dead")
    return {"dead", fmt::format("dead after {}: {}; `outboxd dead retry --id {}` has it tried again",
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

}  // namespace outboxd::app
