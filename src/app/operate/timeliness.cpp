#include "app/operate/timeliness.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#include "store/relay_statements.hpp"

namespace outboxd::app {
namespace {

using namespace std::chrono_literals;

// A relay sends what it has read or looked at a second ago. The rest is for the confirm and the mark.
constexpr auto until_settled = 2s;

constexpr std::size_t at_once = 1'000;

outcome<bool> somebody_leads(operator_session& session, const pg::schema_name& schema) {
  constexpr auto found_sql =
      "SELECT EXISTS (SELECT FROM pg_locks AS l WHERE l.locktype = 'advisory' AND l.classid = {}"
      " AND l.objid < {} AND l.granted AND l.database = (SELECT d.oid FROM pg_database AS d"
      " WHERE d.datname = current_database()))";
  OUTBOXD_TRY(const auto found, session.execute(fmt::format(found_sql, store::lock_class(schema),
                                                            store::lead_key + store::most_shards)));
  return found.at(0, 0) == "t";
}

// Too late is what was published before, or goes out as it was before.
outcome<void> look(operator_session& session, std::span<const named_event> events,
                   const std::function<void(const settled_event&)>& each, timeliness& into) {
  std::vector<selected_event> which;
  which.reserve(events.size());
  for (const named_event& one : events) which.push_back(one.which);
  const auto arrays = arrays_of(which);
  constexpr auto found_sql =
      "SELECT k.id, k.seq, coalesce(e.status::text, 'gone'),"
      " coalesce(e.last_error_code = 'changed_after_send', false)"
      " FROM unnest($1::uuid[], $2::bigint[]) WITH ORDINALITY AS k(id, seq, number)"
      " LEFT JOIN {0}.event AS e ON e.id = k.id AND e.seq = k.seq ORDER BY k.number";
  OUTBOXD_TRY(const auto found, session.execute(found_sql, {arrays.ids, arrays.seqs}));
  for (int row = 0; row < found.size(); ++row) {
    const bool late = !events[static_cast<std::size_t>(row)].changed || found.at(row, 3) == "t";
    ++(late ? into.too_late : into.in_time);
    each({found.at(row, 0), found.number_at(row, 1), found.at(row, 2), !late});
  }
  return {};
}

}  // namespace

outcome<timeliness> settle(operator_session& session, std::span<const named_event> events,
                           const std::function<void(const settled_event&)>& each) {
  const auto leads = somebody_leads(session, session.schema());
  if (!leads) return tl::make_unexpected(leads.error());
  if (*leads && !events.empty()) std::this_thread::sleep_for(until_settled);
  timeliness all;
  for (std::size_t from = 0; from < events.size(); from += at_once) {
    const auto some = events.subspan(from, std::min(at_once, events.size() - from));
    OUTBOXD_TRY_VOID(look(session, some, each, all));
  }
  return all;
}

}  // namespace outboxd::app
