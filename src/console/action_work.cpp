#include "console/action_work.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "app/operate/pausing.hpp"
#include "core/failpoint.hpp"

namespace outboxd::console {
namespace {

using app::operator_session;
using app::outcome;
using nlohmann::json;

// The changes made by other users since the preview, with the users' names.
json meanwhile(operator_session& session, std::int64_t before, const std::string& own) {
  const auto found = session.execute(
      "SELECT coalesce(json_agg(json_build_object('what', a.what, 'who', a.who, 'at', a.at,"
      " 'events', a.events) ORDER BY a.id DESC), '[]')"
      " FROM (SELECT u.* FROM {0}.audit AS u WHERE u.id > $1::bigint AND u.id <> $2::bigint"
      " ORDER BY u.id DESC LIMIT 5) AS a",
      {std::to_string(before), own});
  return found ? json::parse(found->at(0, 0)) : json::array();
}

// Returns true if the change was stopped.
outcome<bool> change(operator_session& session, action& of) {
  constexpr std::chrono::minutes patience{15};
  const auto& plan = of.plan();
  auto rest = plan.events.begin();
  const app::event_source next = [&](std::int64_t most) {
    const auto from = std::exchange(rest, rest + std::min(most, std::distance(rest, plan.events.end())));
    return std::vector(from, rest);
  };
  const auto order = of.what();
  OUTBOXD_TRY(const auto end, app::change_events(session, order, plan.values, next, of, hastened(patience)));
  if (order.from() == app::event_set::unsent) {
    of.add("in_time", end.in_time);
    of.add("too_late", end.too_late);
  }
  of.add("meanwhile", meanwhile(session, plan.audited_before, end.audit));
  return end.stopped;
}

outcome<bool> pause_or_resume(operator_session& session, action& of) {
  const auto& plan = of.plan();
  OUTBOXD_TRY(const auto now, app::pause_or_resume(session, of.what(), plan.until));
  if (plan.what.what == app::deed::resume) of.add("ended", now.ended);
  of.add("paused", now.in_force);
  // The row of this action: the newest that names this application.
  const auto own = session.execute(
      "SELECT coalesce(max(a.id), 0) FROM {0}.audit AS a"
      " WHERE a.id > $1::bigint AND a.what = $2 AND strpos(a.who, current_setting('application_name')) > 0",
      {std::to_string(plan.audited_before), std::string(app::words_of(plan.what.what).name)});
  if (own) of.add("meanwhile", meanwhile(session, plan.audited_before, std::string(own->at(0, 0))));
  return false;
}

outcome<bool> work(const app::settings& from, action& of) {
  OUTBOXD_TRY(auto session, open_acting(from, of.plan().who));
  if (of.plan().what.changes_events()) return change(session, of);
  auto done = pause_or_resume(session, of);
  if (!done && done.error().lost)
    done.error().message += "; see under Stuck what is paused, before you try again";
  return done;
}

}  // namespace

void work_at(const app::settings& from, action& what) {
  const auto stopped = work(from, what);
  const auto how = !stopped ? action_state::failed : *stopped ? action_state::stopped : action_state::done;
  what.end(how, stopped ? "" : stopped.error().message, action::clock::now());
}

}  // namespace outboxd::console
