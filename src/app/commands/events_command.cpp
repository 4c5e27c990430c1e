// events_command: events list and events show, and the order of all event commands on the command line.
#include <fmt/format.h>

#include <array>
#include <memory>
#include <utility>

#include "app/command/outcome.hpp"
#include "app/commands/change_command.hpp"
#include "app/commands/commands.hpp"
#include "app/commands/flags.hpp"
#include "app/config/units.hpp"
#include "app/operate/event_listing.hpp"
#include "app/operate/event_payload.hpp"
#include "core/text.hpp"

namespace outboxd::app {
namespace {

struct list_options {
  std::string called = "events list";  // or the older name, dead list
  event_set of = event_set::any;
  selectors which{};
  bool by_reason = false;  // print one line for each last_error_code
  int limit = 100;
  bool json = false;
};

struct show_options {
  std::string called = "events show";  // or the older name, dead show
  event_set of = event_set::any;
  std::string id{};
  bool payload = false;  // show the payload and the values of headers
  bool json = false;
};

void print_listing(const listing& what, event_set of, bool as_json) {
  if (as_json) {
    print_json(what);
    fmt::print("\n");
  } else if (what.rows.empty()) {
    fmt::print("0 {}events\n", of == event_set::dead ? "dead " : "");
  } else {
    print_table(what);
  }
}

// Prints one line for each last_error_code, the most frequent first.
outcome<int> list_by_reason(operator_session& session, const selectors& resolved, event_set of,
                            bool as_json) {
  const auto which = condition_of(resolved, of);
  constexpr auto found_sql =
      "SELECT json_build_object('code', g.code, 'events', g.events, 'oldest', g.oldest,"
      " 'newest', g.newest, 'example', json_build_object('id', x.id, 'last_error', x.last_error)),"
      " coalesce(g.code, 'none'), g.events, to_char(g.oldest, 'YYYY-MM-DD HH24:MI:SS\"Z\"'),"
      " to_char(g.newest, 'YYYY-MM-DD HH24:MI:SS\"Z\"'), x.id, x.last_error"
      " FROM (SELECT e.last_error_code AS code, count(*) AS events, min(e.created_at) AS oldest,"
      "       max(e.created_at) AS newest, max(e.seq) AS last"
      "       FROM {{0}}.event AS e WHERE {} GROUP BY 1) AS g"
      " CROSS JOIN LATERAL (SELECT e.id, e.last_error FROM {{0}}.event AS e"
      "   WHERE {} AND e.seq = g.last LIMIT 1) AS x"
      " ORDER BY g.events DESC, 2";
  OUTBOXD_TRY(const auto found,
              session.execute(fmt::format(found_sql, which.sql, condition_of({}, of).sql), which.parameters));
  listing out;
  out.titles = {"code", "events", "oldest", "newest", "an event", "its last error"};
  out.add(found);
  print_listing(out, of, as_json);
  return exit_success;
}

outcome<int> list(const settings& from, const list_options& options) {
  if (const auto good = check_selectors(options.which); !good) return usage_failure(good.error().message);
  OUTBOXD_TRY(auto session, operator_session::open(from, "outboxd " + options.called));
  OUTBOXD_TRY(const auto which, session.resolve(options.which));
  const auto of = options.of == event_set::any ? set_of(which.statuses) : options.of;
  if (options.by_reason) return list_by_reason(session, which, of, options.json);
  OUTBOXD_TRY(const auto events, read_listing(session, which, of, options.limit));
  print_listing(events, of, options.json);
  if (events.more)
    say_error(
        fmt::format("more than these {} events match; raise --limit, or add selectors", events.rows.size()));
  return exit_success;
}

// Bytes. PostgreSQL needs several times as much memory as the text shown.
constexpr std::int64_t most_shown = 64'000'000;

// Reads the payload in PostgreSQL's text form. bytea is \x and hexadecimal digits.
outcome<pg::rows> read_shown(operator_session& session, const show_options& options, part_read how,
                             bool payload) {
  const bool whole = how == part_read::whole;
  std::string shown = json_of_event(how);
  if (payload)
    shown += ", 'headers', e.headers, 'payload', e.payload";
  else if (options.payload)
    shown += fmt::format(", 'headers', NULL, 'payload', NULL{}", whole ? ", 'unreadable', true" : "");
  return session.execute(
      fmt::format(
          "SELECT {}), e.status, e.seq, {}, e.attempts, e.created_at,"
          " CASE WHEN e.status <> 'published' THEN e.available_at END, e.published_at,"
          " CASE WHEN e.status <> 'published' THEN {} END, {}{}"
          " FROM {{0}}.event AS e WHERE e.id = $1::uuid ORDER BY e.exception = 'dead' DESC NULLS LAST, e.seq",
          shown,
          whole ? "e.aggregate_type || '/' || e.aggregate_id, e.event_type, e.exchange, e.routing_key"
                : "NULL, NULL, NULL, NULL",
          how == part_read::numbers ? "NULL" : "e.last_error",
          whole ? "(SELECT string_agg(k, ', ' ORDER BY k) FROM jsonb_object_keys(e.headers) AS k)" : "NULL",
          payload ? ", e.headers, e.payload" : ""),
      {options.id});
}

outcome<int> show(const settings& from, const show_options& options) {
  if (options.id.empty())
    return usage_failure(fmt::format("{} needs --id, as `outboxd events list` shows it", options.called));
  selectors which;
  which.ids = {options.id};
  if (const auto good = check_selectors(which); !good) return usage_failure(good.error().message);
  OUTBOXD_TRY(auto session, operator_session::open(from, "outboxd " + options.called));
  std::int64_t size = 0;
  if (options.payload) {
    OUTBOXD_TRY(const auto bytes, text_size(session, options.id, most_shown));
    size = bytes;
  }
  bool payload = options.payload && size <= most_shown;
  const auto read = [&](part_read how) { return read_shown(session, options, how, payload); };
  auto got = read_what_can_be(read);
  if (!got && got.error().of_a_row && std::exchange(payload, false)) got = read_what_can_be(read);
  if (!got) return tl::make_unexpected(got.error());
  const pg::rows& found = got->rows;
  if (found.size() == 0)
    return run_failure(fmt::format("there is no event {} in schema {}", options.id,
                                   from.relay.leader.database.schema.identifier()));
  if (!has(options.of, found.at(0, 1)))
    return run_failure(fmt::format("event {} is not dead: it is {}", options.id, found.at(0, 1)));
  if (found.size() > 1)
    say_error(
        fmt::format("{} events have this id; this is the event with seq {}", found.size(), found.at(0, 2)));
  const auto too_large = fmt::format(
      "not shown: payload and headers have {} bytes, more than the limit of {}", size, most_shown);
  if (options.json) {
    if (size > most_shown) say_error("payload: " + too_large);
    fmt::print("{}\n", found.at(0, 0));
    return exit_success;
  }
  print_field("id", options.id);
  if (options.of == event_set::any) print_field("status", std::string(found.at(0, 1)));
  constexpr std::array names{"seq",     "aggregate",    "event type", "exchange",   "routing key", "attempts",
                             "created", "available at", "published",  "last error", "header names"};
  int column = 2;  // after the JSON and the status
  for (const auto* name : names) {
    const auto value = found.find(0, column++);
    print_field(name, value ? std::optional<std::string>(*value) : std::nullopt);
  }
  if (got->how != part_read::whole)
    say_error(
        "PostgreSQL cannot read all of this event, or cannot convert it to UTF-8: its names are left out");
  if (payload)
    fmt::print("{:<14}{}\n\n{}\n", "headers", found.at(0, column), found.at(0, column + 1));
  else
    print_field("payload", size > most_shown ? too_large
                           : options.payload ? "PostgreSQL cannot read it, or cannot convert it to UTF-8"
                                             : "not shown; --payload shows it with the headers' values");
  return exit_success;
}

void add_list(CLI::App& to, command_set& commands, const list_options& as) {
  const auto options = std::make_shared<list_options>(as);
  const auto limit = std::make_shared<std::optional<std::string>>();
  add_selectors(to, options->which, options->of);
  if (options->of == event_set::any) add_status(to, options->which);
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
                        return report(list(from, *options));
                      }});
}

void add_show(CLI::App& to, command_set& commands, const show_options& as) {
  const auto options = std::make_shared<show_options>(as);
  to.add_option("--id", options->id, "its id")->take_last()->type_name("");
  to.add_flag("--payload", options->payload, "show the payload and the values of the headers, too");
  add_json(to, options->json);
  commands.push_back(
      {&to, purpose::migration, [options](const settings& from) { return report(show(from, *options)); }});
}

}  // namespace

void add_events_commands(CLI::App& app, command_set& to) {
  CLI::App* const events =
      app.add_subcommand("events", "list, retry, discard, replay, cancel, postpone or edit events");
  events->require_subcommand(1);
  const auto add = [&](const char* name, const char* help, deed what) {
    add_change(*events->add_subcommand(name, help), to, what, std::string("events ") + name);
  };
  add_list(*events->add_subcommand("list", "list events, oldest first"), to, {});
  add_show(*events->add_subcommand("show", "show one event in full"), to, {});
  add("retry", "requeue dead events, in their old places", deed::retry);
  add("discard", "delete dead events for good", deed::discard);
  add("replay", "publish published events again, with the same ids", deed::replay);
  add("cancel", "cancel unsent events: they become dead, with the code cancelled", deed::cancel);
  add("postpone", "publish unsent events later", deed::postpone);
  add("edit", "change the payload, headers or names of unsent or dead events", deed::edit);

  // Existing scripts use these older names.
  CLI::App* const dead = app.add_subcommand("dead", "events that could not be published");
  dead->require_subcommand(1)->group("");
  add_list(*dead->add_subcommand("list", "list dead events, oldest first, with their reasons"), to,
           {.called = "dead list", .of = event_set::dead});
  add_show(*dead->add_subcommand("show", "show one dead event in full"), to,
           {.called = "dead show", .of = event_set::dead});
  add_change(*dead->add_subcommand("retry", "requeue dead events, in their old places"), to, deed::retry,
             "dead retry");
  add_change(*dead->add_subcommand("discard", "delete dead events for good"), to, deed::discard,
             "dead discard");
  CLI::App* const replay = app.add_subcommand("replay", "publish published events again, with the same ids");
  replay->group("");
  add_change(*replay, to, deed::replay, "replay");
}

}  // namespace outboxd::app
