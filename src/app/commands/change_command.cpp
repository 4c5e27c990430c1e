// change_command: the commands that change events: their confirmation and their output.
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
#include "app/operate/changing.hpp"
#include "app/operate/event_listing.hpp"
#include "core/failpoint.hpp"

namespace outboxd::app {
namespace {

using nlohmann::json;

struct change_options : order {
  std::string called;  // the command's words: events retry, or an older name
  bool yes = false;    // allow a change of more than a thousand events
  bool dry_run = false;
  bool as_json = false;
};

constexpr std::int64_t unasked = 1000;  // more need --yes
constexpr int shown_by_dry_run = 100;

// Shows a change's progress on the terminal.
class change_watch : public onlooker {
 public:
  change_watch(const change_options& options, std::int64_t all)
      : line_(std::in_place, options.called, all, options.as_json) {}

  bool wait_until(pace::clock::time_point when) override {
    std::this_thread::sleep_until(when);
    return true;
  }
  void see(const change_figures& now) override {
    figures = now;
    if (now.unsure > 0)
      say_error(
          fmt::format("the connection to PostgreSQL was lost; finding out whether the last {} were changed",
                      events(now.unsure)));
    else
      line_->show(now.handled);
  }
  void see(const settled_event& one) override {
    settled.push_back({{"id", one.id}, {"seq", one.seq}, {"status", one.status}, {"in_time", one.in_time}});
  }

  void is_over() { line_.reset(); }

  change_figures figures;
  json settled = json::array();

 private:
  std::optional<progress> line_;
};

outcome<int> preview(operator_session& session, const change_options& options, const selectors& resolved) {
  const auto which = condition_of(resolved, options.from());
  OUTBOXD_TRY(const auto counted,
              session.execute(fmt::format("SELECT count(*) FROM {{0}}.event AS e WHERE {}", which.sql),
                              which.parameters));
  OUTBOXD_TRY(const auto listed, read_listing(session, resolved, options.from(), shown_by_dry_run));
  const auto matched = counted.number_at(0, 0);
  if (options.as_json) {
    fmt::print("{{\"dry_run\": true, \"matched\": {}, \"changed\": 0, \"more\": {}, \"events\": ", matched,
               listed.more);
    print_json(listed);
    fmt::print("}}\n");
    return exit_success;
  }
  fmt::print("{} would change {}\n", options.called, events(matched));
  if (!listed.rows.empty()) print_table(listed);
  if (listed.more) fmt::print("and more; these are the first {}\n", listed.rows.size());
  return exit_success;
}

void tell_timeliness(std::string_view command, const change_end& end, const change_watch& seen,
                     bool as_json) {
  if (as_json) {
    fmt::print("{}\n", json{{"dry_run", false},
                            {"matched", seen.figures.handled},
                            {"in_time", end.in_time},
                            {"too_late", end.too_late},
                            {"events", seen.settled}}
                           .dump(2));
    return;
  }
  fmt::print("{}: {} in time, {} too late\n", command, end.in_time, end.too_late);
  std::vector<std::vector<std::string>> rows{{"id", "seq", "now", ""}};
  for (const json& one : seen.settled)
    rows.push_back({one.at("id"), one.at("seq").dump(), one.at("status"),
                    one.at("in_time").get<bool>() ? "in time" : "too late"});
  if (rows.size() > 1) print_table(std::move(rows));
}

void tell_changed(const change_options& options, const change_figures& done) {
  if (options.as_json) {
    fmt::print("{{\"dry_run\": false, \"matched\": {}, \"changed\": {}}}\n", done.handled, done.changed);
    return;
  }
  fmt::print("{}: {} {}\n", options.called, events(done.changed), words_of(options.what).done);
  if (done.handled == done.changed) return;
  std::string now;
  for (const auto& [status, many] : done.otherwise) now += fmt::format(", {} {}", many, status);
  fmt::print("{} had been changed by others in the meantime{}\n", events(done.handled - done.changed), now);
}

// Names the events whose status does not allow this change. Commands called by their older names do not.
outcome<void> tell_impossible(operator_session& session, const change_options& options) {
  if (options.which.ids.empty() || !options.called.starts_with("events ")) return {};
  const auto found = session.execute(
      fmt::format(
          "SELECT e.id, e.status FROM {{0}}.event AS e WHERE e.id = ANY ($1::uuid[]) AND ({}) IS NOT TRUE"
          " ORDER BY e.seq LIMIT 100",
          condition_of({}, options.from()).sql),
      {array_literal(options.which.ids)});
  if (!found) return tl::make_unexpected(found.error());
  for (int row = 0; row < found->size(); ++row)
    say_error(fmt::format("event {} is {}, so {} is not possible; use {}", found->at(row, 0),
                          found->at(row, 1), options.called, possible_with(found->at(row, 1))));
  return {};
}

outcome<int> run_change(const settings& from, const change_options& options) {
  constexpr std::chrono::seconds patience{30};
  if (const auto good = check_order(options, options.called); !good)
    return usage_failure(good.error().message);
  OUTBOXD_TRY(auto session, operator_session::open(from, "outboxd " + options.called));
  OUTBOXD_TRY(const auto resolved, session.resolve(options.which));
  OUTBOXD_TRY(const auto values, values_of(session, options));
  OUTBOXD_TRY_VOID(tell_impossible(session, options));
  if (options.dry_run) return preview(session, options, resolved);
  OUTBOXD_TRY(const auto all, select_events(session, resolved, options.from()));
  if (all > unasked && options.needs_yes() && !options.yes)
    return usage_failure(fmt::format("{} would change {}; confirm with --yes, or list them with --dry-run",
                                     options.called, events(all)));
  change_watch seen(options, all);
  const auto next = [&](std::int64_t most) { return next_selected(session, most); };
  auto end = change_events(session, options, values, next, seen, hastened(patience));
  seen.is_over();
  if (!end && end.error().lost)
    end.error().message +=
        fmt::format("; {} of {} were {}", seen.figures.changed, events(all), words_of(options.what).done);
  if (!end) return tl::make_unexpected(end.error());
  if (options.what == deed::edit && !options.edit.retry && all == 0)
    fmt::print(stderr, "no pending or waiting event matches; use --retry to edit dead events\n");
  if (options.from() == event_set::unsent)
    tell_timeliness(options.called, *end, seen, options.as_json);
  else
    tell_changed(options, seen.figures);
  return exit_success;
}

void add_replay(CLI::App& to, change_options& options, std::optional<std::string>& rate) {
  const auto add = [&](const char* name, std::optional<std::string>& value, const char* help) {
    add_text(to, name, value, help)->take_last()->type_name("");
  };
  add_text(to, "--rate", rate, "most events per second [no limit]")->take_last()->type_name("N");
  add("--to-exchange", options.exchange, "publish them there, and not to their own exchange");
  add("--to-routing-key", options.routing_key, "publish them with this routing key instead of their own");
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

void add_change(CLI::App& to, command_set& commands, deed what, const std::string& called) {
  const auto options = std::make_shared<change_options>();
  options->what = what;
  options->called = called;
  add_selectors(to, options->which, options->from());
  if (called.starts_with("events ")) add_status(to, options->which);
  add_reason(to, options->reason);
  to.add_flag("--dry-run", options->dry_run, "show what would be touched and change nothing");
  to.add_flag("--yes", options->yes, "also if that are more than 1000 events");
  add_json(to, options->as_json);
  const auto rate = std::make_shared<std::optional<std::string>>();
  if (what == deed::replay) add_replay(to, *options, *rate);
  if (what == deed::postpone)
    add_text(to, "--to", options->until,
             "not before this time ('2026-01-31 14:00' UTC), or this long from now (2h)")
        ->take_last()
        ->type_name("");
  if (what == deed::edit) add_edit(to, options->edit);
  commands.push_back({&to, purpose::migration, [options, rate](const settings& from) {
                        if (*rate) {
                          const auto given = parse_integer(**rate);
                          if (!given || *given < 1 || *given > highest_rate)
                            return refuse(
                                fmt::format("--rate '{}' is not allowed; give 1 to {} events a second",
                                            **rate, highest_rate));
                          options->rate = *given;
                        }
                        return report(run_change(from, *options));
                      }});
}

}  // namespace outboxd::app
