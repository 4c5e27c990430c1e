// dead list and show: looking.
#include <fmt/format.h>

#include "app/commands.hpp"
#include "app/event_listing.hpp"

namespace outboxd::app {
namespace {

outcome<int> list(const settings& from, const dead_list_options& options) {
  if (const auto good = check_selectors(options.which); !good) return usage_failure(good.error().message);
  auto session = operator_session::open(from, "outboxd dead list");
  if (!session) return tl::make_unexpected(session.error());
  const auto which = session->resolve(options.which);
  if (!which) return tl::make_unexpected(which.error());
  const auto events = read_listing(*session, *which, event_set::dead, options.limit);
  if (!events) return tl::make_unexpected(events.error());
  if (options.json) {
    fmt::print("[\n");
    print_json(*events);
    fmt::print("]\n");
  } else if (events->shown == 0) {
    fmt::print("0 dead events\n");
  } else {
    print_table(*events);
  }
  if (events->more)
    say_error(fmt::format("there are more than these {}; --limit raises the limit, selectors narrow the list",
                          events->shown));
  return exit_success;
}

// With the payload as PostgreSQL writes it: bytea as \x and hexadecimal digits.
outcome<int> show(const settings& from, const dead_show_options& options) {
  if (options.id.empty()) return usage_failure("dead show needs --id, as `outboxd dead list` shows it");
  const selectors which{.ids = {options.id}, .event_types = {}, .aggregates = {}, .since = {}, .until = {}};
  if (const auto good = check_selectors(which); !good) return usage_failure(good.error().message);
  auto session = operator_session::open(from, "outboxd dead show");
  if (!session) return tl::make_unexpected(session.error());
  const auto found = session->execute(
      fmt::format("SELECT {}{}), e.status, e.seq, e.aggregate_type || '/' || e.aggregate_id, e.event_type,"
                  " e.exchange, e.routing_key, e.attempts, e.created_at, e.available_at, e.last_error,"
                  " (SELECT string_agg(k, ', ' ORDER BY k) FROM jsonb_object_keys(e.headers) AS k){}"
                  " FROM {{0}}.event AS e WHERE e.id = $1::uuid",
                  json_of_event(), options.payload ? ", 'headers', e.headers, 'payload', e.payload" : "",
                  options.payload ? ", e.headers, e.payload" : ""),
      {options.id});
  if (!found) return tl::make_unexpected(found.error());
  if (found->size() == 0)
    return run_failure(fmt::format("there is no event {} in schema {}", options.id,
                                   from.relay.leader.database.schema.identifier()));
  if (found->at(0, 1) != name_of(event_set::dead))
    return run_failure(fmt::format("event {} is not dead: it is {}", options.id, found->at(0, 1)));
  if (options.json) {
    fmt::print("{}\n", found->at(0, 0));
    return exit_success;
  }
  fmt::print("{:<14}{}\n", "id", options.id);
  constexpr std::array names{"seq",      "aggregate", "event type",   "exchange",   "routing key",
                             "attempts", "created",   "available at", "last error", "header names"};
  constexpr int first = 2;  // after the JSON and the status
  for (std::size_t i = 0; i < names.size(); ++i)
    if (const auto value = found->find(0, first + static_cast<int>(i)))
      fmt::print("{:<14}{}\n", names.at(i), printable(*value));
  if (options.payload) {
    constexpr int headers = first + static_cast<int>(names.size());
    fmt::print("{:<14}{}\n\n{}\n", "headers", found->at(0, headers), found->at(0, headers + 1));
  } else {
    fmt::print("{:<14}{}\n", "payload", "not shown; --payload shows it and the values of the headers");
  }
  return exit_success;
}

}  // namespace

int dead_list_command(const settings& from, const dead_list_options& options) {
  const auto done = list(from, options);
  return done ? *done : report(done.error());
}

int dead_show_command(const settings& from, const dead_show_options& options) {
  const auto done = show(from, options);
  return done ? *done : report(done.error());
}

}  // namespace outboxd::app
