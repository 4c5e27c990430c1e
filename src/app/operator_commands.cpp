// dead, replay, events, pause, prune, status and trace: their options.
#include <fmt/format.h>

#include <memory>

#include "app/command_set.hpp"
#include "app/commands.hpp"
#include "app/units.hpp"

namespace outboxd::app {
namespace {

void add_selectors(CLI::App& to, selectors& which, event_set of) {
  const auto time = of == event_set::published ? "published" : "created";
  const auto add_list = [&](const char* name, std::vector<std::string>& values, const std::string& help) {
    to.add_option(name, values, help)->allow_extra_args(false)->type_name("")->group("Selectors");
  };
  const auto add_time = [&](const char* name, std::optional<std::string>& value, const std::string& help) {
    add_text(to, name, value, help)->take_last()->type_name("")->group("Selectors");
  };
  add_list("--id", which.ids, "the event with this id; may be given again, as may the next two");
  add_list("--event-type", which.event_types, "events of exactly this type");
  add_list("--aggregate", which.aggregates, "events of this aggregate, as TYPE/ID: order/42");
  if (of != event_set::published)
    add_list("--code", which.codes,
             of == event_set::dead
                 ? "dead of this reason, as `dead list --by reason` shows it; may be given again"
                 : "whose latest failure was this one, such as destination_down; may be given again");
  add_time("--since", which.since,
           fmt::format("{} at or after this time ('2026-01-31 14:00' UTC) or so long ago (2h)", time));
  add_time("--until", which.until, fmt::format("{} before this time, in the same forms", time));
  to.add_flag("--all", which.all, "all of them")->group("Selectors");
}

void add_json(CLI::App& to, bool& as_json) {
  to.add_flag("--json", as_json, "print JSON");
}

void add_reason(CLI::App& to, std::optional<std::string>& reason) {
  add_text(to, "--reason", reason, "why, for the row in outbox.audit: 'ticket 4711'")
      ->take_last()
      ->type_name("TEXT");
}

void add_replay(CLI::App& to, change_options& options, std::optional<std::string>& rate) {
  const auto add = [&](const char* name, std::optional<std::string>& value, const char* help) {
    add_text(to, name, value, help)->take_last()->type_name("");
  };
  add_text(to, "--rate", rate, "most events in a second [no limit]")->take_last()->type_name("N");
  add("--exchange", options.exchange, "publish them there, and not to their own exchange");
  add("--routing-key", options.routing_key, "publish them with this routing key, and not with their own");
}

void add_edit(CLI::App& to, event_edit& edit) {
  const auto add = [&](const char* name, std::optional<std::string>& value, const char* help) {
    add_text(to, name, value, help)->take_last()->type_name("");
  };
  add("--set-payload", edit.payload_file, "the payload is what this file has; - is standard input");
  add("--set-headers", edit.headers_file, "the same of the headers, a JSON object");
  add("--set-event-type", edit.event_type, "their event type");
  add("--set-exchange", edit.exchange, "their exchange");
  add("--set-routing-key", edit.routing_key, "their routing key");
  to.add_flag("--by-route", edit.by_route, "no exchange and routing key of their own: routing decides");
}

void add_change(CLI::App& to, command_set& commands, change what, event_set of) {
  const auto options = std::make_shared<change_options>();
  add_selectors(to, options->which, of);
  add_reason(to, options->reason);
  to.add_flag("--dry-run", options->dry_run, "show what would be touched and change nothing");
  to.add_flag("--yes", options->yes, "also if that are more than 1000 events");
  add_json(to, options->json);
  const auto rate = std::make_shared<std::optional<std::string>>();
  if (what == change::replay) add_replay(to, *options, *rate);
  if (what == change::postpone)
    add_text(to, "--to", options->to,
             "not before this time ('2026-01-31 14:00' UTC), or so long from now (2h)")
        ->take_last()
        ->type_name("");
  if (what == change::edit) add_edit(to, options->edit);
  commands.push_back({&to, purpose::migration, [options, what, rate](const settings& from) {
                        if (*rate) {
                          const auto given = parse_integer(**rate);
                          if (!given || *given < 1 || *given > highest_rate)
                            return refuse(
                                fmt::format("--rate '{}' is not allowed; give 1 to {} events a second",
                                            **rate, highest_rate));
                          options->rate = *given;
                        }
                        return change_command(from, what, *options);
                      }});
}

void add_list(CLI::App& to, command_set& commands) {
  const auto options = std::make_shared<dead_list_options>();
  const auto limit = std::make_shared<std::optional<std::string>>();
  add_selectors(to, options->which, event_set::dead);
  const auto by = std::make_shared<std::optional<std::string>>();
  add_text(to, "--by", *by, "reason: one line for each reason, with counts")->take_last()->type_name("");
  add_text(to, "--limit", *limit, fmt::format("most events to list [{}]", options->limit))
      ->take_last()
      ->type_name("");
  add_json(to, options->json);
  commands.push_back({&to, purpose::migration, [options, limit, by](const settings& from) {
                        if (*by && **by != "reason")
                          return refuse(fmt::format("--by '{}' is not allowed; give reason", **by));
                        options->by_reason = by->has_value();
                        constexpr int most = 100'000;
                        if (*limit) {
                          const auto given = parse_integer(**limit);
                          if (!given || *given < 1 || *given > most)
                            return refuse(
                                fmt::format("--limit '{}' is not allowed; give 1 to {}", **limit, most));
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

enum class pausing { begin, end };

void add_pausing(CLI::App& to, command_set& commands, pausing what) {
  const auto options = std::make_shared<pause_options>();
  const auto add_list = [&](const char* name, std::vector<std::string>& values, const char* help) {
    to.add_option(name, values, help)->allow_extra_args(false)->type_name("")->group("Selectors");
  };
  add_list("--event-type", options->event_types, "events of exactly this type; may be given again");
  add_list("--aggregate-type", options->aggregate_types,
           "events of aggregates of exactly this type; may be given again");
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
                        return what == pausing::begin ? pause_command(from, *options)
                                                      : resume_command(from, *options);
                      }});
}

void add_prune(CLI::App& to, command_set& commands) {
  const auto options = std::make_shared<prune_options>();
  to.add_option("--older-than", options->older_than, "how long to keep them: 7d")->take_last()->type_name("");
  add_reason(to, options->reason);
  to.add_flag("--dry-run", options->dry_run, "count what would be deleted and delete nothing");
  add_json(to, options->json);
  commands.push_back(
      {&to, purpose::migration, [options](const settings& from) { return prune_command(from, *options); }});
}

void add_status(CLI::App& to, command_set& commands) {
  const auto options = std::make_shared<status_options>();
  to.add_flag("--watch", options->watch, "again every 2 s, until Ctrl-C");
  add_json(to, options->json);
  commands.push_back(
      {&to, purpose::migration, [options](const settings& from) { return status_command(from, *options); }});
}

void add_trace(CLI::App& to, command_set& commands) {
  const auto options = std::make_shared<trace_options>();
  to.add_option("--id", options->id, "its id, which is the message_id")->take_last()->type_name("");
  add_json(to, options->json);
  commands.push_back(
      {&to, purpose::migration, [options](const settings& from) { return trace_command(from, *options); }});
}

}  // namespace

void add_operator_commands(CLI::App& app, command_set& to) {
  add_status(*app.add_subcommand("status", "how far behind it is, what is stuck, and who leads"), to);
  add_trace(*app.add_subcommand("trace", "where one event is and why it is not out yet"), to);
  CLI::App* const dead = app.add_subcommand("dead", "events that could not be published");
  dead->require_subcommand(1);
  add_list(*dead->add_subcommand("list", "the oldest dead events and why they are dead"), to);
  add_show(*dead->add_subcommand("show", "everything about one dead event"), to);
  add_change(*dead->add_subcommand("retry", "requeue dead events, in their old places"), to, change::retry,
             event_set::dead);
  add_change(*dead->add_subcommand("discard", "delete dead events for good"), to, change::discard,
             event_set::dead);
  add_change(*app.add_subcommand("replay", "publish published events once more, with the same ids"), to,
             change::replay, event_set::published);
  CLI::App* const events = app.add_subcommand("events", "events that have not been sent yet");
  events->require_subcommand(1);
  add_change(*events->add_subcommand("cancel", "they do not go out: dead, with the code cancelled"), to,
             change::cancel, event_set::unsent);
  add_change(*events->add_subcommand("postpone", "they go out later"), to, change::postpone,
             event_set::unsent);
  add_change(*events->add_subcommand("edit", "they go out with another payload, headers or names"), to,
             change::edit, event_set::unsent);
  add_pausing(*app.add_subcommand("pause", "keep relays from publishing events of a type, or any"), to,
              pausing::begin);
  add_pausing(*app.add_subcommand("resume", "have them published again"), to, pausing::end);
  add_prune(*app.add_subcommand("prune", "delete published events, and records of processed ones, by age"),
            to);
}

}  // namespace outboxd::app
