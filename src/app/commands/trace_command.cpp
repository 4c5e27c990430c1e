// trace: prints the state of one event and why the event is not published yet.
#include <fmt/format.h>

#include <memory>

#include "app/command/outcome.hpp"
#include "app/commands/commands.hpp"
#include "app/commands/flags.hpp"
#include "app/operate/event_listing.hpp"
#include "app/operate/trace.hpp"
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
    print_field(title, value->is_string() ? value->get<std::string>() : value->dump());
  };
  show("state", "state");
  show("why", "why");
  show("id", "id");
  show("seq", "seq");
  if (!event.at("aggregate_type").is_null())
    print_field("aggregate", event.at("aggregate_type").get<std::string>() + "/" +
                                 event.at("aggregate_id").get<std::string>());
  for (const auto& [title, key] : {std::pair{"event type", "event_type"},
                                   {"exchange", "exchange"},
                                   {"routing key", "routing_key"},
                                   {"replayed to", "replay_exchange"},
                                   {"with key", "replay_routing_key"},
                                   {"status", "status"},
                                   {"attempts", "attempts"},
                                   {"created", "created_at"},
                                   {"failing since", "first_failed_at"},
                                   {"available at", "available_at"},
                                   {"published", "published_at"},
                                   {"last error", "last_error"},
                                   {"shard", "shard"}})
    show(title, key);
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
  CLI::App* const command =
      app.add_subcommand("trace", "show where an event is, and why it is not published");
  const auto options = std::make_shared<trace_options>();
  command->add_option("--id", options->id, "its id, which is the message_id")->take_last()->type_name("");
  add_json(*command, options->json);
  to.push_back({command, purpose::migration,
                [options](const settings& from) { return report(trace(from, *options)); }});
}

}  // namespace outboxd::app
