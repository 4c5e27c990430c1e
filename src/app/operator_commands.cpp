// dead, replay and prune: their options.
#include <fmt/format.h>

#include <memory>

#include "app/command_set.hpp"
#include "app/commands.hpp"
#include "app/units.hpp"

namespace outboxd::app {
namespace {

void add_selectors(CLI::App& to, selectors& which, std::string_view time) {
  const auto add_list = [&](const char* name, std::vector<std::string>& values, const std::string& help) {
    to.add_option(name, values, help)->allow_extra_args(false)->type_name("")->group("Selectors");
  };
  const auto add_time = [&](const char* name, std::optional<std::string>& value, const std::string& help) {
    to.add_option_function<std::string>(
          name, [&value](const std::string& given) { value = given; }, help)
        ->take_last()
        ->type_name("")
        ->group("Selectors");
  };
  add_list("--id", which.ids, "the event with this id; may be given again, as may the next two");
  add_list("--event-type", which.event_types, "events of exactly this type");
  add_list("--aggregate", which.aggregates, "events of this aggregate, as TYPE/ID: order/42");
  add_time("--since", which.since,
           fmt::format("{} at or after this time ('2026-01-31 14:00' UTC) or so long ago (2h)", time));
  add_time("--until", which.until, fmt::format("{} before this time, in the same forms", time));
  to.add_flag("--all", which.all, "all of them")->group("Selectors");
}

void add_json(CLI::App& to, bool& json) {
  to.add_flag("--json", json, "print JSON");
}

void add_change(CLI::App& to, command_set& commands, change what, std::string_view time) {
  const auto options = std::make_shared<change_options>();
  add_selectors(to, options->which, time);
  to.add_flag("--dry-run", options->dry_run, "show what would be touched and change nothing");
  add_json(to, options->json);
  commands.push_back({&to, purpose::migration, [options, what](const settings& from) {
                        return change_command(from, what, *options);
                      }});
}

void add_list(CLI::App& to, command_set& commands) {
  const auto options = std::make_shared<dead_list_options>();
  const auto limit = std::make_shared<std::string>();
  add_selectors(to, options->which, "created");
  to.add_option("--limit", *limit, fmt::format("most events to list [{}]", options->limit))
      ->take_last()
      ->type_name("");
  add_json(to, options->json);
  commands.push_back({&to, purpose::migration, [options, limit](const settings& from) {
                        constexpr int most = 100'000;
                        if (!limit->empty()) {
                          const auto given = parse_integer(*limit);
                          if (!given || *given < 1 || *given > most)
                            return refuse(
                                fmt::format("--limit '{}' is not allowed; give 1 to {}", *limit, most));
                          options->limit = static_cast<int>(*given);
                        }
                        return dead_list_command(from, *options);
                      }});
}

void add_show(CLI::App& to, command_set& commands) {
  const auto options = std::make_shared<dead_show_options>();
  to.add_option("--id", options->id, "its id")->take_last()->type_name("");
  to.add_flag("--payload", options->payload, "show the payload and the values of the headers, too");
  add_json(to, options->json);
  commands.push_back({&to, purpose::migration,
                      [options](const settings& from) { return dead_show_command(from, *options); }});
}

void add_prune(CLI::App& to, command_set& commands) {
  const auto options = std::make_shared<prune_options>();
  to.add_option("--older-than", options->older_than, "how long to keep them: 7d")->take_last()->type_name("");
  to.add_flag("--dry-run", options->dry_run, "count what would be deleted and delete nothing");
  add_json(to, options->json);
  commands.push_back(
      {&to, purpose::migration, [options](const settings& from) { return prune_command(from, *options); }});
}

}  // namespace

void add_operator_commands(CLI::App& app, command_set& to) {
  CLI::App* const dead = app.add_subcommand("dead", "events that could not be published");
  dead->require_subcommand(1);
  add_list(*dead->add_subcommand("list", "the oldest dead events and why they are dead"), to);
  add_show(*dead->add_subcommand("show", "everything about one dead event"), to);
  add_change(*dead->add_subcommand("retry", "make dead events pending again, in their old places"), to,
             change::retry, "created");
  add_change(*dead->add_subcommand("discard", "delete dead events for good"), to, change::discard, "created");
  add_change(*app.add_subcommand("replay", "publish published events once more, with the same ids"), to,
             change::replay, "published");
  add_prune(*app.add_subcommand("prune", "delete published events, and records of processed ones, by age"),
            to);
}

}  // namespace outboxd::app
