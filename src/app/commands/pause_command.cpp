// pause and resume: what they print.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "app/command/outcome.hpp"
#include "app/commands/commands.hpp"
#include "app/commands/flags.hpp"
#include "app/operate/pause_words.hpp"
#include "app/operate/pausing.hpp"

namespace outboxd::app {
namespace {

using nlohmann::json;

struct pause_options : pause_order {
  bool json = false;
};

void show_pauses(const json& paused) {
  for (const auto& one : paused) fmt::print("paused: {}\n", words_of(pause_from(one)));
}

outcome<int> pause(const settings& from, const pause_options& options) {
  if (const auto good = check_order("pause", options); !good) return usage_failure(good.error().message);
  OUTBOXD_TRY(auto session, operator_session::open(from, "outboxd pause"));
  OUTBOXD_TRY(const auto until, end_of_pause(session, options));
  OUTBOXD_TRY(const auto unseen, unseen_types(session, options));
  for (const auto& words : unseen) say_error(words);
  OUTBOXD_TRY_VOID(begin_pause(session, options, until));
  OUTBOXD_TRY(const auto paused, pauses_in_force(session));
  if (options.json)
    fmt::print("{}\n", json{{"paused", paused}}.dump(2));
  else
    show_pauses(paused);
  return exit_success;
}

outcome<int> resume(const settings& from, const pause_options& options) {
  if (const auto good = check_order("resume", options); !good) return usage_failure(good.error().message);
  OUTBOXD_TRY(auto session, operator_session::open(from, "outboxd resume"));
  OUTBOXD_TRY(const auto ended, end_pauses(session, options));
  OUTBOXD_TRY(const auto paused, pauses_in_force(session));
  if (options.json) {
    fmt::print("{}\n", json{{"ended", ended}, {"paused", paused}}.dump(2));
    return exit_success;
  }
  if (ended == 0)
    fmt::print("nothing of that was paused\n");
  else
    fmt::print("resumed: {} {} ended\n", ended, ended == 1 ? "pause" : "pauses");
  show_pauses(paused);
  return exit_success;
}

enum class pausing { begin, end };

void add_pausing(CLI::App& to, command_set& commands, pausing what) {
  const auto options = std::make_shared<pause_options>();
  const auto add_list = [&](const char* name, std::vector<std::string>& values, const char* help) {
    to.add_option(name, values, help)->allow_extra_args(false)->type_name("")->group("Selectors");
  };
  add_list("--event-type", options->event_types, "events of exactly this type; may be given again");
  add_list("--aggregate-type", options->aggregate_types,
           "events of aggregates of exactly this type; may be given again");
  add_list("--exchange", options->exchanges,
           "events that go to an exchange which this glob matches; may be given again");
  add_list("--routing-key", options->routing_keys,
           "events that go out with a routing key which this glob matches; may be given again");
  to.add_flag("--all", options->all, what == pausing::begin ? "everything" : "all pauses there are")
      ->group("Selectors");
  if (what == pausing::begin)
    add_text(to, "--until", options->until,
             "it ends by itself at this time ('2026-01-31 14:00' UTC) or after so long (2h)")
        ->take_last()
        ->type_name("");
  add_reason(to, options->reason);
  add_json(to, options->json);
  commands.push_back({&to, purpose::migration, [options, what](const settings& from) {
                        return report(what == pausing::begin ? pause(from, *options)
                                                             : resume(from, *options));
                      }});
}

}  // namespace

void add_pausing_commands(CLI::App& app, command_set& to) {
  add_pausing(
      *app.add_subcommand("pause", "keep relays from publishing events of a type, for a destination, or any"),
      to, pausing::begin);
  add_pausing(*app.add_subcommand("resume", "have them published again"), to, pausing::end);
}

}  // namespace outboxd::app
