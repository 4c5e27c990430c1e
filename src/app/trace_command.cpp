// trace: what is known of one event, and why it is not out yet.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "app/commands.hpp"
#include "app/event_listing.hpp"
#include "app/trace_words.hpp"

namespace outboxd::app {
namespace {

using nlohmann::json;

void print_found(const json& event) {
  const auto show = [&](std::string_view title, const char* key) {
    const auto value = event.find(key);
    if (value == event.end() || value->is_null()) return;
    fmt::print("{:<14}{}\n", title,
               printable(value->is_string() ? value->get<std::string>() : value->dump()));
  };
  fmt::print("{:<14}{}\n{:<14}{}\n", "state", event.at("state").get<std::string>(), "why",
             printable(event.at("why").get<std::string>()));
  show("id", "id");
  show("seq", "seq");
  if (!event.at("aggregate_type").is_null())
    fmt::print("{:<14}{}\n", "aggregate",
               printable(event.at("aggregate_type").get<std::string>() + "/" +
                         event.at("aggregate_id").get<std::string>()));
  show("event type", "event_type");
  show("exchange", "exchange");
  show("routing key", "routing_key");
  show("replayed to", "replay_exchange");
  show("with key", "replay_routing_key");
  show("status", "status");
  show("attempts", "attempts");
  show("created", "created_at");
  show("available at", "available_at");
  show("published", "published_at");
  show("last error", "last_error");
  show("shard", "shard");
}

outcome<int> tell(json event, const trace_finding& finding, const trace_options& options) {
  event["state"] = finding.state;
  event["why"] = finding.why;
  if (options.json)
    fmt::print("{}\n", event.dump(2));
  else
    print_found(event);
  return exit_success;
}

// As much as PostgreSQL can read of the events.
outcome<int> unreadable(operator_session& session, const trace_options& options) {
  const auto got = read_what_can_be([&](part_read how) {
    return session.execute(
        fmt::format("SELECT {}) FROM {{0}}.event AS e WHERE e.id = $1::uuid ORDER BY e.seq",
                    json_of_event(how)),
        {options.id});
  });
  if (!got) return tl::make_unexpected(got.error());
  if (got->rows.size() == 0) return run_failure(fmt::format("event {} has just been deleted", options.id));
  for (int row = 0; row < got->rows.size(); ++row) {
    auto event = json::parse(std::string(got->rows.at(row, 0)));
    event["behind"] = json();
    const bool is_over = event.at("status") == "dead" || event.at("status") == "published";
    const auto finding =
        is_over ? explain(event, json())
                : trace_finding{"unreadable",
                                "PostgreSQL cannot read it whole, or not say it in UTF-8: it is dead when a "
                                "relay has come to it"};
    if (row > 0) fmt::print("\n");
    if (const auto told = tell(std::move(event), finding, options); !told) return told;
  }
  return exit_success;
}

// The id is not in the table.
outcome<int> missing(operator_session& session, const settings& from, const trace_options& options) {
  const auto kept = session.ask("discarded", {options.id});
  if (!kept) return tl::make_unexpected(kept.error());
  const json discarded = *kept ? json::parse(**kept) : json();
  std::string why =
      fmt::format("there is no event {} in schema {}", options.id, from.relay.leader.database.schema.name());
  if (discarded.is_null()) {
    why +=
        ", as far as committed transactions go: its own may be open, rolled back, or long ago, and the event "
        "deleted since";
  } else {
    why += fmt::format(
        ": {} discarded it at {}{}", discarded.at("who").get<std::string>(),
        discarded.at("at").get<std::string>(),
        discarded.at("reason").is_null() ? "" : " (" + discarded.at("reason").get<std::string>() + ")");
  }
  if (options.json)
    fmt::print(
        "{}\n",
        json{{"id", options.id}, {"state", discarded.is_null() ? "unknown" : "discarded"}, {"why", why}}.dump(
            2));
  return run_failure(printable(why));
}

// And what it waits behind.
outcome<int> tell_of(operator_session& session, json event, const trace_options& options) {
  json behind;
  if (event.at("status") == "pending" || event.at("status") == "waiting") {
    const auto ahead = session.ask("behind", {options.id, event.at("seq").dump()});
    if (!ahead) return tl::make_unexpected(ahead.error());
    if (*ahead && event.at("exception") != "scheduled") behind = json::parse(**ahead);
  }
  const auto finding = explain(event, behind);
  event["behind"] = std::move(behind);
  return tell(std::move(event), finding, options);
}

outcome<int> trace(const settings& from, const trace_options& options) {
  if (options.id.empty()) return usage_failure("trace needs --id, the message_id of the event");
  selectors which;
  which.ids = {options.id};
  if (const auto good = check_selectors(which); !good) return usage_failure(good.error().message);
  auto session = operator_session::open(from, "outboxd trace");
  if (!session) return tl::make_unexpected(session.error());
  if (const auto set = session->look_only(); !set) return tl::make_unexpected(set.error());
  const auto found = session->ask_all("trace", {options.id});
  if (!found && found.error().of_a_row) return unreadable(*session, options);
  if (!found) return tl::make_unexpected(found.error());
  if (found->empty()) return missing(*session, from, options);
  if (found->size() > 1)
    say_error(fmt::format("{} events have this id, one in each partition", found->size()));
  for (const std::string& one : *found) {
    if (&one != &found->front()) fmt::print("\n");
    if (const auto told = tell_of(*session, json::parse(one), options); !told) return told;
  }
  return exit_success;
}

}  // namespace

int trace_command(const settings& from, const trace_options& options) {
  const auto done = trace(from, options);
  return done ? *done : report(done.error());
}

}  // namespace outboxd::app
