#include "app/operate/pausing.hpp"

#include <fmt/format.h>

namespace outboxd::app {
namespace {

outcome<void> look_for(operator_session& session, std::string_view column, std::string_view flag,
                       const std::vector<std::string>& types, std::vector<std::string>& into) {
  constexpr int latest = 10'000;
  for (const std::string& one : types) {
    constexpr auto seen_sql =
        "SELECT EXISTS (SELECT FROM (SELECT e.{} AS type FROM {{0}}.event AS e ORDER BY e.seq DESC"
        " LIMIT {}) AS l WHERE l.type = $1)";
    OUTBOXD_TRY(const auto seen, session.execute(fmt::format(seen_sql, column, latest), {one}));
    if (seen.at(0, 0) == "f")
      into.push_back(
          fmt::format("{} '{}': none of the latest {} events is of this type; it is paused all the same",
                      flag, one, latest));
  }
  return {};
}

}  // namespace

outcome<std::string> end_of_pause(operator_session& session, const pause_order& given) {
  if (!given.until) return "infinity";
  auto resolved = session.resolve_time("--until", *given.until, operator_session::counted::ahead);
  if (!resolved) return resolved;
  OUTBOXD_TRY(const auto ahead, session.execute("SELECT $1::timestamptz > clock_timestamp()", {*resolved}));
  if (ahead.at(0, 0) == "f")
    return usage_failure(
        fmt::format("--until '{}' has passed; give a time to come, or how long, such as 2h", *given.until));
  return resolved;
}

outcome<std::vector<std::string>> unseen_types(operator_session& session, const pause_order& given) {
  std::vector<std::string> out;
  if (auto looked = look_for(session, "event_type", "--event-type", given.event_types, out); !looked)
    return tl::make_unexpected(looked.error());
  if (auto looked = look_for(session, "aggregate_type", "--aggregate-type", given.aggregate_types, out);
      !looked)
    return tl::make_unexpected(looked.error());
  return out;
}

outcome<void> begin_pause(operator_session& session, const pause_order& given, const std::string& until) {
  OUTBOXD_TRY_VOID(session.execute(
      "SELECT {0}.pause($1::text[], $2::text[], $3::boolean, $4::timestamptz, nullif($5::text, ''),"
      " $6::text[], $7::text[])",
      {array_literal(given.event_types), array_literal(given.aggregate_types), given.all ? "t" : "f", until,
       given.reason.value_or(""), array_literal(given.exchanges), array_literal(given.routing_keys)}));
  return {};
}

outcome<std::int64_t> end_pauses(operator_session& session, const pause_order& given) {
  const auto done = session.execute(
      "SELECT {0}.resume($1::text[], $2::text[], $3::boolean, nullif($4::text, ''),"
      " $5::text[], $6::text[])",
      {array_literal(given.event_types), array_literal(given.aggregate_types), given.all ? "t" : "f",
       given.reason.value_or(""), array_literal(given.exchanges), array_literal(given.routing_keys)});
  if (!done) return tl::make_unexpected(done.error());
  return done->number_at(0, 0);
}

outcome<nlohmann::json> pauses_in_force(operator_session& session) {
  OUTBOXD_TRY(const auto told, session.ask("pauses"));
  return nlohmann::json::parse(told.value_or("{}")).at("paused");
}

}  // namespace outboxd::app
