// dead retry, dead discard, replay and events: what they ask, and what they print.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "app/command/outcome.hpp"
#include "app/commands/change_command.hpp"
#include "app/commands/commands.hpp"
#include "app/commands/flags.hpp"
#include "app/commands/progress.hpp"
#include "app/config/units.hpp"
#include "app/operate/event_listing.hpp"
#include "app/operate/portions.hpp"
#include "app/operate/timeliness.hpp"
#include "app/operate/values.hpp"
#include "app/operate/words.hpp"

namespace outboxd::app {
namespace {

struct change_options : change_order {
  bool yes = false;  // also more than a thousand
  bool dry_run = false;
  bool json = false;
};

constexpr std::int64_t unasked = 1000;  // more need --yes
constexpr int shown_by_dry_run = 100;

struct counts {
  std::int64_t matched = 0;
  std::int64_t changed = 0;
  std::vector<named_event> events;  // of those that have not been sent
};

outcome<counts> change_selected(operator_session& session, change what, std::int64_t all,
                                const change_options& options, const std::vector<change_value>& values) {
  OUTBOXD_TRY(auto work, portions::begin(session, what, options, values));
  counts out;
  progress line(std::string(words_of(what).command), all, options.json);
  pace at(options.rate);
  for (;;) {
    OUTBOXD_TRY(const auto next, next_selected(session, at.most()));
    if (next.empty()) return out;
    std::this_thread::sleep_until(at.next());
    at.began();
    OUTBOXD_TRY(const auto changed, work.apply(next, out.events));
    const auto many = static_cast<std::int64_t>(next.size());
    at.took(many);
    out.matched += many;
    out.changed += changed;
    line.show(out.matched);
  }
}

outcome<int> preview(operator_session& session, const change_words& how, const selectors& resolved,
                     bool json) {
  const auto which = condition_of(resolved, how.from);
  OUTBOXD_TRY(const auto counted,
              session.execute(fmt::format("SELECT count(*) FROM {{0}}.event AS e WHERE {}", which.sql),
                              which.parameters));
  OUTBOXD_TRY(const auto listed, read_listing(session, resolved, how.from, shown_by_dry_run));
  const auto matched = counted.number_at(0, 0);
  if (json) {
    fmt::print("{{\"dry_run\": true, \"matched\": {}, \"changed\": 0, \"more\": {}, \"events\": [\n", matched,
               listed.more);
    print_json(listed);
    fmt::print("]}}\n");
    return exit_success;
  }
  fmt::print("{} would touch {}\n", how.command, events(matched));
  if (!listed.events.empty()) print_table(listed);
  if (listed.more) fmt::print("and more: these are the first {}\n", listed.events.size());
  say_unreadable(listed);
  return exit_success;
}

outcome<int> tell_timeliness(operator_session& session, std::string_view command,
                             const std::vector<named_event>& events, bool as_json) {
  auto all = nlohmann::json::array();
  std::vector<std::vector<std::string>> rows{{"id", "seq", "now", ""}};
  const auto found = settle(session, events, [&](const settled_event& one) {
    if (as_json)
      all.push_back({{"id", one.id}, {"seq", one.seq}, {"status", one.status}, {"in_time", one.in_time}});
    else
      rows.push_back({std::string(one.id), std::to_string(one.seq), std::string(one.status),
                      one.in_time ? "in time" : "too late"});
  });
  if (!found) return tl::make_unexpected(found.error());
  if (as_json) {
    fmt::print("{}\n", nlohmann::json{{"dry_run", false},
                                      {"matched", events.size()},
                                      {"in_time", found->in_time},
                                      {"too_late", found->too_late},
                                      {"events", all}}
                           .dump(2));
    return exit_success;
  }
  fmt::print("{}: {} in time, {} too late\n", command, found->in_time, found->too_late);
  if (rows.size() > 1) print_rows(std::move(rows));
  return exit_success;
}

outcome<int> run_change(const settings& from, change what, const change_options& options) {
  if (what == change::edit && options.edit.retry) what = change::edit_dead;
  const auto how = words_of(what);
  if (const auto good = check_order(what, options); !good) return usage_failure(good.error().message);
  OUTBOXD_TRY(auto session, operator_session::open(from, fmt::format("outboxd {}", how.command)));
  OUTBOXD_TRY(const auto resolved, session.resolve(options.which));
  OUTBOXD_TRY(const auto values, values_of(session, what, options));
  if (options.dry_run) return preview(session, how, resolved, options.json);
  OUTBOXD_TRY(const auto all, select_events(session, resolved, how.from));
  const bool asks = (what != change::retry && what != change::discard) || options.which.all;
  if (all > unasked && asks && !options.yes)
    return usage_failure(fmt::format(
        "{} would touch {}; give --yes if you mean it, or --dry-run to see which", how.command, events(all)));
  OUTBOXD_TRY(const auto done, change_selected(session, what, all, options, values));
  if (what == change::edit && all == 0)
    fmt::print(stderr, "no event that is pending or waiting matches; dead ones are edited with --retry\n");
  if (how.from == event_set::unsent) return tell_timeliness(session, how.command, done.events, options.json);
  if (options.json) {
    fmt::print("{{\"dry_run\": false, \"matched\": {}, \"changed\": {}}}\n", done.matched, done.changed);
    return exit_success;
  }
  fmt::print("{}: {} {}\n", how.command, events(done.changed), how.done);
  if (done.matched > done.changed)
    fmt::print("{} had been changed by others meanwhile\n", events(done.matched - done.changed));
  return exit_success;
}

void add_replay(CLI::App& to, change_options& options, std::optional<std::string>& rate) {
  const auto add = [&](const char* name, std::optional<std::string>& value, const char* help) {
    add_text(to, name, value, help)->take_last()->type_name("");
  };
  add_text(to, "--rate", rate, "most events in a second [no limit]")->take_last()->type_name("N");
  add("--to-exchange", options.exchange, "publish them there, and not to their own exchange");
  add("--to-routing-key", options.routing_key, "publish them with this routing key, and not with their own");
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
  to.add_flag("--retry", edit.retry, "dead events, which are retried then; else what has not been sent");
}

}  // namespace

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
                        return report(run_change(from, what, *options));
                      }});
}

void add_replay_command(CLI::App& app, command_set& to) {
  add_change(*app.add_subcommand("replay", "publish published events once more, with the same ids"), to,
             change::replay, event_set::published);
}

void add_events_commands(CLI::App& app, command_set& to) {
  CLI::App* const events = app.add_subcommand("events", "events that have not been sent yet");
  events->require_subcommand(1);
  const auto add = [&](const char* name, const char* help, change what) {
    add_change(*events->add_subcommand(name, help), to, what, event_set::unsent);
  };
  add("cancel", "they do not go out: dead, with the code cancelled", change::cancel);
  add("postpone", "they go out later", change::postpone);
  add("edit", "they go out with another payload, headers or names", change::edit);
}

}  // namespace outboxd::app
