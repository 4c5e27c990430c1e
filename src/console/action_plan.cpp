// action_work: creates previews.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "app/operate/event_listing.hpp"
#include "app/operate/pausing.hpp"
#include "console/action_work.hpp"
#include "console/audit_name.hpp"
#include "core/utf8.hpp"

namespace outboxd::console {
namespace {

using app::operator_session;
using app::outcome;
using nlohmann::json;

constexpr std::size_t listed = 20;
constexpr std::int64_t fetched_at_once = 10'000;
constexpr int longest_search = 30;  // seconds
constexpr int longest_count = 2;    // seconds; for the informational counts in the preview of a pause
constexpr std::int64_t most_counted = 100'000;

outcome<void> limit_to(operator_session& session, int seconds) {
  OUTBOXD_TRY_VOID(session.execute(fmt::format(
      "SELECT set_config('statement_timeout', '{}s', false), set_config('jit', 'off', false)", seconds)));
  return {};
}

outcome<std::int64_t> newest_audit(operator_session& session) {
  OUTBOXD_TRY(const auto found, session.execute("SELECT coalesce(max(a.id), 0) FROM {0}.audit AS a"));
  return found.number_at(0, 0);
}

// The first selected events, without their payloads.
outcome<json> listing(operator_session& session, const std::vector<app::selected_event>& events,
                      app::event_set from) {
  app::selectors first;
  for (const auto& one : std::span(events).first(std::min(events.size(), listed)))
    first.ids.push_back(to_string(one.id));
  auto out = json::array();
  if (first.ids.empty()) return out;
  OUTBOXD_TRY(const auto found, app::read_listing(session, first, from, static_cast<int>(listed)));
  for (const auto& one : found.rows) {
    const auto all = json::parse(one.json, nullptr, false);
    if (!all.is_object()) continue;
    auto& row = out.emplace_back(json::object());
    for (const auto* name : {"id", "seq", "event_type", "aggregate_type", "aggregate_id", "attempts",
                             "created_at", "published_at", "last_error_code"}) {
      constexpr std::size_t longest = 300;  // the page truncates texts too
      auto value = all.value(name, json());
      if (value.is_string()) value = whole_characters(value.get_ref<const std::string&>(), longest);
      row[name] = std::move(value);
    }
  }
  return out;
}

outcome<std::vector<app::selected_event>> select(operator_session& session, const app::selectors& resolved,
                                                 app::event_set from) {
  const auto begun = std::chrono::steady_clock::now();
  const auto many = app::select_events(session, resolved, from);
  if (!many && std::chrono::steady_clock::now() - begun >= std::chrono::seconds(longest_search))
    return app::usage_failure(
        fmt::format("these events cannot be found within {} s; narrow the selection, or use the command line",
                    longest_search));
  if (!many) return tl::make_unexpected(many.error());
  if (*many > most_selected)
    return app::usage_failure(
        fmt::format("that are {} events, and the console changes up to {} at once; narrow the selection, or "
                    "use the command line",
                    *many, most_selected));
  std::vector<app::selected_event> out;
  out.reserve(static_cast<std::size_t>(*many));
  for (;;) {
    OUTBOXD_TRY(const auto next, app::next_selected(session, fetched_at_once));
    if (next.empty()) return out;
    out.insert(out.end(), next.begin(), next.end());
  }
}

// Tests the values, so that invalid JSON is reported before the user confirms the change.
outcome<void> try_values(operator_session& session, const std::vector<app::change_value>& values) {
  for (const auto& one : values) {
    const auto expression = fmt::format(fmt::runtime(one.expression), 1);
    const auto tried = session.execute("SELECT " + expression, {one.value});
    if (!tried && tried.error().lost) return tl::make_unexpected(tried.error());
    if (!tried) return app::usage_failure(fmt::format("{}: {}", one.name, tried.error().message));
  }
  return {};
}

outcome<void> plan_change(operator_session& session, action_plan& to) {
  OUTBOXD_TRY_VOID(limit_to(session, longest_search));
  OUTBOXD_TRY(to.values, app::values_of(session, to.what));
  OUTBOXD_TRY_VOID(try_values(session, to.values));
  OUTBOXD_TRY(const auto resolved, session.resolve(to.what.which));
  const auto from = to.what.from();
  OUTBOXD_TRY(to.events, select(session, resolved, from));
  OUTBOXD_TRY(to.shown["events"], listing(session, to.events, from));
  to.shown["of"] = app::name_of(from);
  return {};
}

// True if the order ends this pause, which is in force.
bool ends(const json& one, const app::selectors& given) {
  if (given.all) return true;
  const auto ending = app::pause_from(one);
  const auto has = [&](const std::vector<std::string>& names) {
    return std::find(names.begin(), names.end(), ending.name) != names.end();
  };
  switch (ending.part) {
    case flow::paused_part::everything:
      return false;
    case flow::paused_part::event_type:
      return has(given.event_types);
    case flow::paused_part::aggregate_type:
      return has(given.aggregate_types);
    case flow::paused_part::exchange:
      return has(given.exchanges);
    case flow::paused_part::routing_key:
      return has(given.routing_keys);
  }
  return false;
}

// The number of waiting events that the pause would hold back, as far as their rows show it. Null if they
// could not be counted in time.
json held_back(operator_session& session, const app::selectors& given) {
  if (auto set = limit_to(session, longest_count); !set) return {};
  const auto found = session.execute(
      fmt::format(
          "SELECT count(*) FROM (SELECT FROM {{0}}.event AS e WHERE e.status IN ('pending', 'waiting')"
          " AND ($1::boolean OR e.event_type = ANY ($2::text[]) OR e.aggregate_type = ANY ($3::text[])"
          " OR {} OR {}) LIMIT {}) AS w",
          app::matches_one_of(app::exchange_of_row(), 4), app::matches_one_of(app::routing_key_of_row(), 5),
          most_counted + 1),
      {given.all ? "t" : "f", app::array_literal(given.event_types),
       app::array_literal(given.aggregate_types), app::like_patterns(given.exchanges),
       app::like_patterns(given.routing_keys)});
  if (!found) return {};
  return found->number_at(0, 0);
}

outcome<void> plan_pause(operator_session& session, action_plan& to) {
  const auto& given = to.what;
  OUTBOXD_TRY(auto paused, app::pauses_in_force(session));
  if (given.what == app::deed::resume) {
    auto& ending = to.shown["ends"] = json::array();
    for (const auto& one : paused)
      if (ends(one, given.which)) ending.push_back(one);
    return {};
  }
  OUTBOXD_TRY(to.until, app::end_of_pause(session, given));
  OUTBOXD_TRY(const auto unseen, app::unseen_types(session, given));
  to.shown["warnings"] = unseen;
  to.shown["paused"] = std::move(paused);
  to.shown["waiting"] = held_back(session, given.which);
  to.shown["waiting_counts_to"] = most_counted;
  return {};
}

}  // namespace

outcome<operator_session> open_acting(const app::settings& from, const std::string& who) {
  return operator_session::open(from, fmt::format("outboxd console: {}", audit_name(who)));
}

outcome<action_plan> make_plan(const app::settings& from, const app::order& what, const std::string& who) {
  OUTBOXD_TRY(auto session, open_acting(from, who));
  action_plan out{.what = what, .who = who, .events = {}, .values = {}, .until = {}, .shown = json::object()};
  // Read before the selection: changes by others from now on may affect the selected events.
  OUTBOXD_TRY(out.audited_before, newest_audit(session));
  OUTBOXD_TRY_VOID(what.changes_events() ? plan_change(session, out) : plan_pause(session, out));
  return out;
}

action_plan rest_of(const action& former, const std::string& who) {
  action_plan out = former.plan();
  out.who = who;
  const auto done = static_cast<std::ptrdiff_t>(former.figures().handled);
  out.events.erase(out.events.begin(), out.events.begin() + done);
  out.shown["rest"] = true;
  out.shown["events"] = json::array();
  return out;
}

}  // namespace outboxd::console
