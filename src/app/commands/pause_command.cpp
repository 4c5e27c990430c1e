// pause_command: pause and resume: their output.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "app/command/outcome.hpp"
#include "app/commands/commands.hpp"
#include "app/commands/flags.hpp"
#include "app/operate/pausing.hpp"

namespace outboxd::app {
namespace {

using nlohmann::json;

struct pause_options : order {
  bool as_json = false;
};

outcome<int> run_pausing(const settings& from, const pause_options& options) {
  const bool begins = options.what == deed::pause;
  if (const auto good = check_order(options); !good) return usage_failure(good.error().message);
  OUTBOXD_TRY(auto session,
              operator_session::open(from, fmt::format("outboxd {}", words_of(options.what).command)));
  std::string until;
  if (begins) {
    OUTBOXD_TRY(until, end_of_pause(session, options));
    OUTBOXD_TRY(const auto unseen, unseen_types(session, options));
    for (const auto& words : unseen) say_error(words);
  }
  OUTBOXD_TRY(const auto now, pause_or_resume(session, options, until));
  if (options.as_json) {
    json out{{"paused", now.in_force}};
    if (!begins) out["ended"] = now.ended;
    fmt::print("{}\n", out.dump(2));
    return exit_success;
  }
  if (!begins && now.ended == 0) fmt::print("no such pause was in force\n");
  if (now.ended > 0) fmt::print("resumed: {} {} ended\n", now.ended, now.ended == 1 ? "pause" : "pauses");
  for (const auto& one : now.in_force) fmt::print("paused: {}\n", words_of(pause_from(one)));
  return exit_success;
}

void add_pausing(CLI::App& to, command_set& commands, deed what) {
  const auto options = std::make_shared<pause_options>();
  options->what = what;
  auto& which = options->which;
  const auto add_list = [&](const char* name, std::vector<std::string>& values, const char* help) {
    to.add_option(name, values, help)->allow_extra_args(false)->type_name("")->group("Selectors");
  };
  add_list("--event-type", which.event_types, "events of exactly this type; may be given again");
  add_list("--aggregate-type", which.aggregate_types,
           "events of aggregates of exactly this type; can be repeated");
  add_list("--exchange", which.exchanges, "events for an exchange that matches this glob; can be repeated");
  add_list("--routing-key", which.routing_keys,
           "events with a routing key that matches this glob; can be repeated");
  to.add_flag("--all", which.all, what == deed::pause ? "everything" : "all pauses")->group("Selectors");
  if (what == deed::pause)
    add_text(to, "--until", options->until, "end of the pause ('2026-01-31 14:00' UTC), or its duration (2h)")
        ->take_last()
        ->type_name("");
  add_reason(to, options->reason);
  add_json(to, options->as_json);
  commands.push_back({&to, purpose::migration,
                      [options](const settings& from) { return report(run_pausing(from, *options)); }});
}

}  // namespace

void add_pausing_commands(CLI::App& app, command_set& to) {
  add_pausing(
      *app.add_subcommand("pause", "pause publishing, by event type, by destination, or for all events"), to,
      deed::pause);
  add_pausing(*app.add_subcommand("resume", "end pauses"), to, deed::resume);
}

}  // namespace outboxd::app
