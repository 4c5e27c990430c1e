#include "app/operate/changing.hpp"

#include <fmt/format.h>

#include <set>
#include <span>
#include <thread>

#include "store/relay_statements.hpp"

namespace outboxd::app {
namespace {

using namespace std::chrono_literals;

using events_named = std::span<const selected_event>;

std::uint8_t digit_of(char c) {
  if (c >= '0' && c <= '9') return static_cast<std::uint8_t>(c - '0');
  return static_cast<std::uint8_t>((c | 0x20) - 'a' + 10);
}

event_id id_from(std::string_view text) {
  event_id out;
  std::size_t digits = 0;
  for (const char c : text) {
    if (c == '-' || digits == 2 * out.bytes.size()) continue;
    auto& byte = out.bytes.at(digits++ / 2);
    byte = static_cast<std::uint8_t>(byte << 4U | digit_of(c));
  }
  return out;
}

std::vector<selected_event> selected_from(const pg::rows& found) {
  std::vector<selected_event> out;
  out.reserve(static_cast<std::size_t>(found.size()));
  for (int row = 0; row < found.size(); ++row)
    out.push_back({id_from(found.at(row, 0)), found.number_at(row, 1)});
  return out;
}

// The ids as text of a uuid[], and the seqs as text of a bigint[].
std::vector<std::string> arrays_of(events_named events) {
  std::string ids = "{";
  std::string seqs = "{";
  for (const auto& one : events) {
    const auto* comma = &one == events.data() ? "" : ",";
    ids += comma + to_string(one.id);
    seqs += comma + std::to_string(one.seq);
  }
  return {ids + "}", seqs + "}"};
}

// Counts the events of a portion that no longer have the status they were selected with, by their present
// status.
outcome<void> count_others(operator_session& session, events_named events, event_set from,
                           change_figures& into) {
  const auto found =
      session.execute(fmt::format("SELECT coalesce(e.status::text, 'gone'), count(*)"
                                  " FROM unnest($1::uuid[], $2::bigint[]) AS k(id, seq)"
                                  " LEFT JOIN {{0}}.event AS e ON e.id = k.id AND e.seq = k.seq"
                                  " WHERE ({}) IS NOT TRUE GROUP BY 1 ORDER BY 1",
                                  condition_of({}, from).sql),
                      arrays_of(events));
  if (!found) return tl::make_unexpected(found.error());
  for (int row = 0; row < found->size(); ++row)
    into.otherwise[std::string(found->at(row, 0))] += found->number_at(row, 1);
  return {};
}

outcome<bool> somebody_leads(operator_session& session) {
  constexpr auto found_sql =
      "SELECT EXISTS (SELECT FROM pg_locks AS l WHERE l.locktype = 'advisory' AND l.classid = {}"
      " AND l.objid < {} AND l.granted AND l.database = (SELECT d.oid FROM pg_database AS d"
      " WHERE d.datname = current_database()))";
  OUTBOXD_TRY(const auto found, session.execute(fmt::format(found_sql, store::lock_class(session.schema()),
                                                            store::lead_key + store::most_shards)));
  return found.at(0, 0) == "t";
}

// True if our lost session has ended. Until PostgreSQL terminates it, it may still commit.
outcome<bool> is_over(operator_session& session, const std::string& pid) {
  constexpr auto found_sql =
      "SELECT NOT EXISTS (SELECT FROM pg_stat_activity AS a WHERE a.pid = $1::int"
      " AND a.application_name = current_setting('application_name') AND a.usename = session_user)";
  OUTBOXD_TRY(const auto found, session.execute(found_sql, {pid}));
  return found.at(0, 0) == "t";
}

class change_work {
 public:
  change_work(operator_session& session, const order& given, onlooker& who)
      : session_(session), given_(given), who_(who), from_(given.from()) {}

  // Opens the command's row of outbox.audit.
  outcome<void> begin(const std::vector<change_value>& values);
  outcome<change_end> run(const event_source& next, std::chrono::milliseconds patience);

 private:
  // True for changes that report which events they have changed.
  bool tells_which() const { return from_ == event_set::unsent || given_.what == deed::edit; }
  outcome<std::int64_t> apply(events_named events);
  command_failure find_out(command_failure lost, std::int64_t events, std::chrono::milliseconds patience);
  outcome<void> settle(change_end& into);
  outcome<void> look(std::size_t from, std::size_t many, change_end& into);

  operator_session& session_;
  const order& given_;
  onlooker& who_;
  event_set from_;
  std::string pid_;
  std::string call_;
  std::vector<std::string> parameters_;  // ids, seqs, audit, then the new values
  change_figures figures_;
  std::vector<selected_event> named_;  // the events that had not been sent
  std::vector<bool> changed_;  // for each of named_; false: already published, or changed by somebody else
};

outcome<void> change_work::begin(const std::vector<change_value>& values) {
  OUTBOXD_TRY(const auto pid, session_.execute("SELECT pg_backend_pid()"));
  pid_ = pid.at(0, 0);
  const auto how = words_of(given_.what);
  OUTBOXD_TRY(auto audit, session_.begin_audit(how.name, words_of(given_), given_.reason));
  call_ = fmt::format("SELECT {}{{0}}.{}($1::uuid[], seqs => $2::bigint[], audit => $3::bigint",
                      tells_which() ? "changed_id, changed_seq FROM " : "", how.function);
  parameters_ = {"", "", std::move(audit)};
  const auto add = [&](std::string_view name, std::string_view expression, const std::string& value) {
    parameters_.push_back(value);
    call_ += fmt::format(", {} => {}", name, fmt::format(fmt::runtime(expression), parameters_.size()));
  };
  if (given_.exchange) add("exchange", "${}::text", *given_.exchange);
  if (given_.routing_key) add("routing_key", "${}::text", *given_.routing_key);
  for (const change_value& one : values) add(one.name, one.expression, one.value);
  call_ += ")";
  return {};
}

// Returns the number of changed events.
outcome<std::int64_t> change_work::apply(events_named events) {
  auto arrays = arrays_of(events);
  std::move(arrays.begin(), arrays.end(), parameters_.begin());
  OUTBOXD_TRY(const auto done, session_.execute(call_, parameters_));
  if (!tells_which()) return done.number_at(0, 0);
  const auto told = selected_from(done);
  const std::set<selected_event> changed(told.begin(), told.end());
  if (from_ == event_set::unsent) {
    named_.insert(named_.end(), events.begin(), events.end());
    for (const auto& one : events) changed_.push_back(changed.contains(one));
  }
  return static_cast<std::int64_t>(changed.size());
}

outcome<change_end> change_work::run(const event_source& next, std::chrono::milliseconds patience) {
  change_end out{.audit = parameters_[2]};
  pace at(given_.rate);
  for (;;) {
    OUTBOXD_TRY(const auto some, next(at.most()));
    if (some.empty()) break;
    out.stopped = !who_.wait_until(at.next());
    if (out.stopped) break;
    at.began();
    auto figures = figures_;
    OUTBOXD_TRY_VOID(count_others(session_, some, from_, figures));
    const auto many = static_cast<std::int64_t>(some.size());
    const auto changed = apply(some);
    if (!changed)
      return tl::make_unexpected(changed.error().lost ? find_out(changed.error(), many, patience)
                                                      : changed.error());
    figures.handled += many;
    figures.changed += *changed;
    figures_ = std::move(figures);
    at.took(many);
    who_.see(figures_);
  }
  if (from_ == event_set::unsent) OUTBOXD_TRY_VOID(settle(out));
  return out;
}

// Finds out whether the lost portion was committed: its count in outbox.audit is part of the same
// transaction.
command_failure change_work::find_out(command_failure lost, std::int64_t events,
                                      std::chrono::milliseconds patience) {
  constexpr auto every = 1s;
  figures_.unsure = events;
  who_.see(figures_);
  const auto until = pace::clock::now() + patience;
  for (auto next = pace::clock::now(); pace::clock::now() < until && who_.wait_until(next);
       next = pace::clock::now() + every) {
    auto session = session_.another();
    if (!session) continue;
    const auto over = is_over(*session, pid_);
    if (!over || !*over) continue;
    const auto found =
        session->execute("SELECT a.events FROM {0}.audit AS a WHERE a.id = $1::bigint", {parameters_[2]});
    if (!found || found->size() == 0) continue;
    const auto changed = found->number_at(0, 0);
    figures_.unsure = 0;
    if (changed > figures_.changed) figures_.handled += events;
    figures_.changed = changed;
    who_.see(figures_);
    return lost;
  }
  lost.message += fmt::format("; it is not known whether the last {} were changed: see outbox.audit",
                              app::events(events));
  return lost;
}

// While a relay leads, waits until no relay can still send the former version of these events. A relay sends
// only events that it has read or rechecked within the last second. The rest of the wait is for the confirm
// and the mark of such an event.
outcome<void> change_work::settle(change_end& into) {
  constexpr auto until_settled = 2s;
  constexpr std::size_t at_once = 1'000;
  OUTBOXD_TRY(const bool led, somebody_leads(session_));
  if (led && !named_.empty()) std::this_thread::sleep_for(until_settled);
  for (std::size_t from = 0; from < named_.size(); from += at_once)
    OUTBOXD_TRY_VOID(look(from, std::min(at_once, named_.size() - from), into));
  return {};
}

// A change is too late if the event was already published, or is sent in its former version.
outcome<void> change_work::look(std::size_t from, std::size_t many, change_end& into) {
  constexpr auto found_sql =
      "SELECT k.id, k.seq, coalesce(e.status::text, 'gone'),"
      " coalesce(e.last_error_code = 'changed_after_send', false)"
      " FROM unnest($1::uuid[], $2::bigint[]) WITH ORDINALITY AS k(id, seq, number)"
      " LEFT JOIN {0}.event AS e ON e.id = k.id AND e.seq = k.seq ORDER BY k.number";
  OUTBOXD_TRY(const auto found,
              session_.execute(found_sql, arrays_of(events_named(named_).subspan(from, many))));
  for (int row = 0; row < found.size(); ++row) {
    const bool late = !changed_[from + static_cast<std::size_t>(row)] || found.at(row, 3) == "t";
    ++(late ? into.too_late : into.in_time);
    who_.see(settled_event{found.at(row, 0), found.number_at(row, 1), found.at(row, 2), !late});
  }
  return {};
}

}  // namespace

outcome<std::int64_t> select_events(operator_session& session, const selectors& resolved, event_set from) {
  const auto which = condition_of(resolved, from);
  constexpr auto selected_sql =
      "DECLARE selected SCROLL CURSOR WITH HOLD FOR SELECT e.id, e.seq FROM {{0}}.event AS e"
      " WHERE {} ORDER BY e.seq";
  OUTBOXD_TRY(const auto selected, session.execute(fmt::format(selected_sql, which.sql), which.parameters));
  OUTBOXD_TRY(const auto counted, session.execute("MOVE FORWARD ALL IN selected"));
  OUTBOXD_TRY_VOID(session.execute("MOVE ABSOLUTE 0 IN selected"));
  return counted.affected();
}

outcome<std::vector<selected_event>> next_selected(operator_session& session, std::int64_t most) {
  OUTBOXD_TRY(const auto next, session.execute(fmt::format("FETCH {} FROM selected", most)));
  return selected_from(next);
}

outcome<change_end> change_events(operator_session& session, const order& given,
                                  const std::vector<change_value>& values, const event_source& next,
                                  onlooker& who, std::chrono::milliseconds patience) {
  change_work work(session, given, who);
  OUTBOXD_TRY_VOID(work.begin(values));
  return work.run(next, patience);
}

}  // namespace outboxd::app
