// trace: what is known of one event, and why it is not out yet.
#include <fmt/format.h>

#include <memory>

#include "app/command/outcome.hpp"
#include "app/commands/commands.hpp"
#include "app/commands/flags.hpp"
#include "app/operate/event_listing.hpp"
#include "app/operate/trace_look.hpp"
#include "core/text.hpp"

namespace outboxd::app {
namespace {

using nlohmann::json;

struct trace_options {
  std::string id;
  bool json = false;
};

void print_found(const json& event) {
  const auto show = [&](std::string_view title, const char* key) {
    const auto value = event.find(key);
    if (value == event.end() || value->is_null()) return;
    fmt::print("{:<14}{}\n", title, escaped(value->is_string() ? value->get<std::string>() : value->dump()));
  };
  fmt::print("{:<14}{}\n{:<14}{}\n", "state", event.at("state").get<std::string>(), "why",
             escaped(event.at("why").get<std::string>()));
  show("id", "id");
  show("seq", "seq");
  if (!event.at("aggregate_type").is_null())
    fmt::print("{:<14}{}\n", "aggregate",
               escaped(event.at("aggregate_type").get<std::string>() + "/" +
                       event.at("aggregate_id").get<std::string>()));
  show("event type", "event_type");
  show("exchange", "exchange");
  show("routing key", "routing_key");
  show("replayed to", "replay_exchange");
  show("with key", "replay_routing_key");
  show("status", "status");
  show("attempts", "attempts");
  show("created", "created_at");
  show("failing since", "first_failed_at");
  show("available at", "available_at");
  show("published", "published_at");
  show("last error", "last_error");
  show("shard", "shard");
}

outcome<int> missing(operator_session& session, const trace_options& options) {
  OUTBOXD_TRY(const auto why, trace_missing(session, options.id));
  if (options.json) fmt::print("{}\n", why.dump(2));
  return run_failure(escaped(why.at("why").get<std::string>()));
}

outcome<int> trace(const settings& from, const trace_options& options) {
  if (options.id.empty()) return usage_failure("trace needs --id, the message_id of the event");
  selectors which;
  which.ids = {options.id};
  if (const auto good = check_selectors(which); !good) return usage_failure(good.error().message);
  OUTBOXD_TRY(auto session, operator_session::open(from, "outboxd trace"));
  OUTBOXD_TRY_VOID(session.look_only());
  OUTBOXD_TRY(const auto found, trace_event(session, options.id));
  if (found.empty()) return missing(session, options);
  if (found.size() > 1) say_error(fmt::format("{} events have this id, one in each partition", found.size()));
  for (const json& one : found) {
    if (&one != &found.front()) fmt::print("\n");
    if (options.json)
      fmt::print("{}\n", one.dump(2));
    else
      print_found(one);
  }
  return exit_success;
}

}  // namespace

void add_trace_command(CLI::App& app, command_set& to) {
  CLI::App* const command = app.add_subcommand("trace", "where one event is and why it is not out yet");
  const auto options = std::make_shared<trace_options>();
  command->add_option("--id", options->id, "its id, which is the message_id")->take_last()->type_name("");
  add_json(*command, options->json);
  to.push_back({command, purpose::migration,
                [options](const settings& from) { return report(trace(from, *options)); }});
}

}  // namespace outboxd::app
