#include "console/action_work.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <span>
#include <thread>

#include "app/operate/pausing.hpp"
#include "app/operate/timeliness.hpp"
#include "app/operate/words.hpp"
#include "core/failpoint.hpp"

namespace outboxd::console {
namespace {

using app::operator_session;
using app::outcome;
using nlohmann::json;
using counted = std::vector<std::pair<std::string, std::int64_t>>;

action::clock::time_point now() {
  return action::clock::now();
}

// Of a portion: how many are not what they were when they were previewed, by what they are now.
outcome<counted> others_in(operator_session& session, std::span<const app::selected_event> events,
                           app::event_set from) {
  const auto arrays = app::arrays_of(events);
  const auto found =
      session.execute(fmt::format("SELECT coalesce(e.status::text, 'gone'), count(*)"
                                  " FROM unnest($1::uuid[], $2::bigint[]) AS k(id, seq)"
                                  " LEFT JOIN {{0}}.event AS e ON e.id = k.id AND e.seq = k.seq"
                                  " WHERE ({}) IS NOT TRUE GROUP BY 1 ORDER BY 1",
                                  app::condition_of({}, from).sql),
                      {arrays.ids, arrays.seqs});
  if (!found) return tl::make_unexpected(found.error());
  counted out;
  for (int row = 0; row < found->size(); ++row) out.emplace_back(found->at(row, 0), found->number_at(row, 1));
  return out;
}

// What others have done since the preview, with their names.
json meanwhile(operator_session& session, std::int64_t before, const std::string& own) {
  const auto found = session.execute(
      "SELECT coalesce(json_agg(json_build_object('what', a.what, 'who', a.who, 'at', a.at,"
      " 'events', a.events) ORDER BY a.id DESC), '[]')"
      " FROM (SELECT u.* FROM {0}.audit AS u WHERE u.id > $1::bigint AND u.id <> $2::bigint"
      " ORDER BY u.id DESC LIMIT 5) AS a",
      {std::to_string(before), own});
  return found ? json::parse(found->at(0, 0)) : json::array();
}

// A session of ours that PostgreSQL has not given up yet may still commit.
outcome<bool> is_over(operator_session& session, const std::string& pid) {
  constexpr auto found_sql =
      "SELECT NOT EXISTS (SELECT FROM pg_stat_activity AS a WHERE a.pid = $1::int"
      " AND a.application_name = current_setting('application_name') AND a.usename = session_user)";
  OUTBOXD_TRY(const auto found, session.execute(found_sql, {pid}));
  return found.at(0, 0) == "t";
}

struct lost_portion {
  std::string pid;    // of the session
  std::string audit;  // its row
  std::int64_t events;
};

// Whether the portion was done: its count in outbox.audit is of the same transaction. Waits for PostgreSQL to
// come back, as long as somebody may want to know.
void find_out(const app::settings& from, action& of, const lost_portion& lost, const std::string& why) {
  constexpr std::chrono::seconds every{1};
  const auto longest = hastened(std::chrono::minutes{15});
  of.is_unsure(lost.events);
  const auto until = now() + longest;
  for (auto next = now(); now() < until && of.wait_until(next); next = now() + every) {
    auto session = open_acting(from, of.plan().who);
    if (!session) continue;
    const auto over = is_over(*session, lost.pid);
    if (!over || !*over) continue;
    const auto found =
        session->execute("SELECT a.events FROM {0}.audit AS a WHERE a.id = $1::bigint", {lost.audit});
    if (!found || found->size() == 0) continue;
    const auto changed = found->number_at(0, 0);
    of.is_sure(changed > of.figures().changed ? lost.events : 0, changed);
    return of.end(action_state::failed, why, now());
  }
  of.end(action_state::failed,
         fmt::format("{}; whether the last {} were changed is not known, and outbox.audit tells it", why,
                     app::events(lost.events)),
         now());
}

class change_job {
 public:
  change_job(const app::settings& from, action& of, app::change what)
      : from_(from), of_(of), what_(what), set_(app::words_of(what).from) {}

  void run() {
    auto session = open_acting(from_, of_.plan().who);
    if (!session) return fail(session.error());
    const auto pid = session->execute("SELECT pg_backend_pid()");
    if (!pid) return fail(pid.error());
    pid_ = pid->at(0, 0);
    auto order = of_.plan().what.change;
    order.reason = of_.reason();
    auto work = app::portions::begin(*session, what_, order, of_.plan().values);
    if (!work) return fail(work.error());
    const auto ended = change_all(*session, *work);
    if (!ended) return;
    if (set_ == app::event_set::unsent && !tell_timeliness(*session)) return;
    of_.add("meanwhile", meanwhile(*session, of_.plan().audited_before, work->audit()));
    of_.end(*ended, "", now());
  }

 private:
  // Nothing: it has failed, and has told so.
  std::optional<action_state> change_all(operator_session& session, app::portions& work) {
    app::pace at(of_.plan().what.change.rate);
    std::span<const app::selected_event> rest = of_.plan().events;
    while (!rest.empty()) {
      if (!of_.wait_until(at.next())) return action_state::stopped;
      at.began();
      const auto some = rest.first(std::min(rest.size(), static_cast<std::size_t>(at.most())));
      const auto many = static_cast<std::int64_t>(some.size());
      const auto others = others_in(session, some, set_);
      if (!others) return fail(others.error()), std::nullopt;
      const auto changed = work.apply(some, named_);
      if (!changed && changed.error().lost) {
        find_out(from_, of_, {pid_, work.audit(), many}, changed.error().message);
        return std::nullopt;
      }
      if (!changed) return fail(changed.error()), std::nullopt;
      of_.handled(many, *changed, *others);
      at.took(many);
      rest = rest.subspan(some.size());
    }
    return action_state::done;
  }

  bool tell_timeliness(operator_session& session) {
    const auto found = app::settle(session, named_, [](const app::settled_event&) {});
    if (!found) return fail(found.error()), false;
    of_.add("in_time", found->in_time);
    of_.add("too_late", found->too_late);
    return true;
  }

  void fail(const app::command_failure& why) { of_.end(action_state::failed, why.message, now()); }

  const app::settings& from_;
  action& of_;
  app::change what_;
  app::event_set set_;
  std::string pid_;
  std::vector<app::named_event> named_;
};

// One transaction each, which does no harm when it is done once more.
outcome<void> pause_or_resume(operator_session& session, action& of) {
  auto order = of.plan().what.pause;
  order.reason = of.reason();
  if (of.plan().what.what == deed::pause) {
    if (auto begun = app::begin_pause(session, order, of.plan().until); !begun) return begun;
  } else {
    OUTBOXD_TRY(const auto ended, app::end_pauses(session, order));
    of.add("ended", ended);
  }
  OUTBOXD_TRY(auto paused, app::pauses_in_force(session));
  of.add("paused", std::move(paused));
  // Its own row: the newest that names this application.
  const auto own = session.execute(
      "SELECT coalesce(max(a.id), 0) FROM {0}.audit AS a"
      " WHERE a.id > $1::bigint AND a.what = $2 AND strpos(a.who, current_setting('application_name')) > 0",
      {std::to_string(of.plan().audited_before), std::string(name_of(of.plan().what.what))});
  if (own) of.add("meanwhile", meanwhile(session, of.plan().audited_before, std::string(own->at(0, 0))));
  return {};
}

}  // namespace

void work_at(const app::settings& from, action& what) {
  if (const auto change = change_of(what.plan().what)) return change_job(from, what, *change).run();
  auto session = open_acting(from, what.plan().who);
  const auto done = session ? pause_or_resume(*session, what) : tl::make_unexpected(session.error());
  if (done) return what.end(action_state::done, "", now());
  what.end(action_state::failed,
           done.error().lost ? done.error().message + "; see under Stuck what is paused, before you try again"
                             : done.error().message,
           now());
}

}  // namespace outboxd::console
