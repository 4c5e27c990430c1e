#include "app/timeliness.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <span>
#include <thread>

#include "app/event_listing.hpp"
#include "pg/relay_statements.hpp"

namespace outboxd::app {
namespace {

using nlohmann::json;
using namespace std::chrono_literals;

// A relay sends what it has read or looked at a second ago. The rest is for the confirm and the mark.
constexpr auto until_settled = 2s;

constexpr std::size_t at_once = 1'000;

struct tally {
  json events = json::array();
  std::size_t in_time = 0;
  std::size_t too_late = 0;
};

outcome<bool> somebody_leads(operator_session& session, const pg::schema_name& schema) {
  const auto found = session.execute(
      fmt::format("SELECT EXISTS (SELECT FROM pg_locks AS l WHERE l.locktype = 'advisory' AND l.classid = {}"
                  " AND l.objid < {} AND l.granted AND l.database = (SELECT d.oid FROM pg_database AS d"
                  " WHERE d.datname = current_database()))",
                  pg::lock_class(schema), pg::lead_key + pg::most_shards));
  if (!found) return tl::make_unexpected(found.error());
  return found->at(0, 0) == "t";
}

// Too late is what was published before, or goes out as it was before.
outcome<void> look(operator_session& session, std::span<const named_event> events, tally& into) {
  std::vector<std::string> ids;
  std::vector<std::string> seqs;
  for (const named_event& one : events) {
    ids.push_back(one.id);
    seqs.push_back(one.seq);
  }
  const auto found = session.execute(
      "SELECT k.id, k.seq, coalesce(e.status::text, 'gone'),"
      " coalesce(e.last_error_code = 'changed_after_send', false)"
      " FROM unnest($1::uuid[], $2::bigint[]) WITH ORDINALITY AS k(id, seq, number)"
      " LEFT JOIN {0}.event AS e ON e.id = k.id AND e.seq = k.seq ORDER BY k.number",
      {array_literal(ids), array_literal(seqs)});
  if (!found) return tl::make_unexpected(found.error());
  for (int row = 0; row < found->size(); ++row) {
    const bool late = !events[static_cast<std::size_t>(row)].changed || found->at(row, 3) == "t";
    ++(late ? into.too_late : into.in_time);
    into.events.push_back({{"id", std::string(found->at(row, 0))},
                           {"seq", found->number_at(row, 1)},
                           {"status", std::string(found->at(row, 2))},
                           {"in_time", !late}});
  }
  return {};
}

}  // namespace

outcome<int> tell_timeliness(operator_session& session, std::string_view command,
                             const std::vector<named_event>& events, const change_options& options) {
  const auto leads = somebody_leads(session, session.schema());
  if (!leads) return tl::make_unexpected(leads.error());
  if (*leads && !events.empty()) std::this_thread::sleep_for(until_settled);
  tally all;
  for (std::size_t from = 0; from < events.size(); from += at_once) {
    const auto some = std::span(events).subspan(from, std::min(at_once, events.size() - from));
    const auto looked = look(session, some, all);
    if (!looked) return tl::make_unexpected(looked.error());
  }
  if (options.json) {
    fmt::print("{}\n", json{{"dry_run", false},
                            {"matched", events.size()},
                            {"in_time", all.in_time},
                            {"too_late", all.too_late},
                            {"events", all.events}}
                           .dump(2));
    return exit_success;
  }
  fmt::print("{}: {} in time, {} too late\n", command, all.in_time, all.too_late);
  std::vector<std::vector<std::string>> rows{{"id", "seq", "now", ""}};
  for (const json& one : all.events)
    rows.push_back({one.at("id"), one.at("seq").dump(), one.at("status"),
                    one.at("in_time").get<bool>() ? "in time" : "too late"});
  if (rows.size() > 1) print_rows(std::move(rows));
  return exit_success;
}

}  // namespace outboxd::app
