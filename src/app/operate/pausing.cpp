#include "app/operate/pausing.hpp"

#include <fmt/format.h>

#include "core/text.hpp"

namespace outboxd::app {
namespace {

// A glob may be empty, because the name of the default exchange is.
std::string name_of(const flow::pause& one) {
  return one.name.empty() ? "''" : escaped(one.name);
}

std::string part_of(const flow::pause& one) {
  switch (one.part) {
    case flow::paused_part::everything:
      return "everything";
    case flow::paused_part::event_type:
      return "event type " + escaped(one.name);
    case flow::paused_part::aggregate_type:
      return "aggregate type " + escaped(one.name);
    case flow::paused_part::exchange:
      return "exchange " + name_of(one);
    case flow::paused_part::routing_key:
      return "routing key " + name_of(one);
  }
  return {};
}

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

flow::pause pause_from(const nlohmann::json& told) {
  const auto text = [&](const char* key) {
    return told.at(key).is_null() ? std::string() : told.at(key).get<std::string>();
  };
  return {flow::part_named(text("part")), text("name"), text("reason"), text("until")};
}

std::string words_of(const flow::pause& one) {
  return part_of(one) + (one.reason.empty() ? "" : fmt::format(" ({})", escaped(one.reason))) +
         (one.until.empty() ? "" : ", until " + one.until);
}

outcome<std::string> end_of_pause(operator_session& session, const order& given) {
  if (!given.until) return "infinity";
  auto resolved = session.resolve_time("--until", *given.until, operator_session::counted::ahead);
  if (!resolved) return resolved;
  OUTBOXD_TRY(const auto ahead, session.execute("SELECT $1::timestamptz > clock_timestamp()", {*resolved}));
  if (ahead.at(0, 0) == "f")
    return usage_failure(fmt::format(
        "--until '{}' is in the past; give a later time, or a duration such as 2h", *given.until));
  return resolved;
}

outcome<std::vector<std::string>> unseen_types(operator_session& session, const order& given) {
  std::vector<std::string> out;
  OUTBOXD_TRY_VOID(look_for(session, "event_type", "--event-type", given.which.event_types, out));
  OUTBOXD_TRY_VOID(look_for(session, "aggregate_type", "--aggregate-type", given.which.aggregate_types, out));
  return out;
}

outcome<pauses> pause_or_resume(operator_session& session, const order& given, const std::string& until) {
  std::vector<std::string> parameters{array_literal(given.which.event_types),
                                      array_literal(given.which.aggregate_types),
                                      given.which.all ? "t" : "f",
                                      given.reason.value_or(""),
                                      array_literal(given.which.exchanges),
                                      array_literal(given.which.routing_keys)};
  const bool begins = given.what == deed::pause;
  if (begins) parameters.push_back(until);
  OUTBOXD_TRY(const auto done,
              session.execute(fmt::format("SELECT {{0}}.{}($1::text[], $2::text[], $3::boolean,{}"
                                          " nullif($4::text, ''), $5::text[], $6::text[])",
                                          words_of(given.what).function, begins ? " $7::timestamptz," : ""),
                              parameters));
  pauses out;
  if (!begins) out.ended = done.number_at(0, 0);
  OUTBOXD_TRY(out.in_force, pauses_in_force(session));
  return out;
}

outcome<nlohmann::json> pauses_in_force(operator_session& session) {
  OUTBOXD_TRY(const auto told, session.ask("pauses"));
  return nlohmann::json::parse(told.value_or("{}")).at("paused");
}

}  // namespace outboxd::app
