// pause and resume: which parts of the outbox relays leave alone.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "app/commands.hpp"
#include "app/operator_session.hpp"
#include "app/pause_words.hpp"

namespace outboxd::app {
namespace {

using nlohmann::json;

result<void> check(const pause_options& options, std::string_view command) {
  if (!options.all && options.event_types.empty() && options.aggregate_types.empty())
    return permanent(fmt::format(
        "{} needs to know what: give --event-type or --aggregate-type, or --all for everything", command));
  if (options.all && !(options.event_types.empty() && options.aggregate_types.empty()))
    return permanent("--all means everything and goes with no other selector; give one or the other");
  constexpr std::size_t longest = 1000;
  for (const auto& [flag, types] : {std::pair{"--event-type", &options.event_types},
                                    std::pair{"--aggregate-type", &options.aggregate_types}})
    for (const std::string& one : *types)
      if (one.empty() || one.size() > longest)
        return permanent(fmt::format("{} has {} bytes; give a type of 1 to {}", flag, one.size(), longest));
  return check_reason(options.reason);
}

// A word of warning for what is perhaps misspelled.
outcome<void> look_for(operator_session& session, std::string_view column, std::string_view flag,
                       const std::vector<std::string>& types) {
  constexpr int latest = 10'000;
  for (const std::string& one : types) {
    const auto seen = session.execute(
        fmt::format(
            "SELECT EXISTS (SELECT FROM (SELECT e.{} AS type FROM {{0}}.event AS e ORDER BY e.seq DESC"
            " LIMIT {}) AS l WHERE l.type = $1)",
            column, latest),
        {one});
    if (!seen) return tl::make_unexpected(seen.error());
    if (seen->at(0, 0) == "f")
      say_error(
          fmt::format("{} '{}': none of the latest {} events is of this type; it is paused all the same",
                      flag, one, latest));
  }
  return {};
}

outcome<json> in_force(operator_session& session) {
  const auto told = session.ask("pauses");
  if (!told) return tl::make_unexpected(told.error());
  return json::parse(told->value_or("{}")).at("paused");
}

void show_pauses(const json& paused) {
  for (const auto& one : paused) fmt::print("paused: {}\n", words_of(pause_from(one)));
}

outcome<int> pause(const settings& from, const pause_options& options) {
  if (const auto good = check(options, "pause"); !good) return usage_failure(good.error().message);
  auto session = operator_session::open(from, "outboxd pause");
  if (!session) return tl::make_unexpected(session.error());
  std::string until = "infinity";
  if (options.until) {
    auto resolved = session->resolve_time("--until", *options.until, operator_session::counted::ahead);
    if (!resolved) return tl::make_unexpected(resolved.error());
    until = std::move(*resolved);
    const auto ahead = session->execute("SELECT $1::timestamptz > clock_timestamp()", {until});
    if (!ahead) return tl::make_unexpected(ahead.error());
    if (ahead->at(0, 0) == "f")
      return usage_failure(fmt::format(
          "--until '{}' has passed; give a time to come, or how long, such as 2h", *options.until));
  }
  if (const auto looked = look_for(*session, "event_type", "--event-type", options.event_types); !looked)
    return tl::make_unexpected(looked.error());
  if (const auto looked = look_for(*session, "aggregate_type", "--aggregate-type", options.aggregate_types);
      !looked)
    return tl::make_unexpected(looked.error());
  const auto done = session->execute(
      "SELECT {0}.pause($1::text[], $2::text[], $3::boolean, $4::timestamptz, nullif($5::text, ''))",
      {array_literal(options.event_types), array_literal(options.aggregate_types), options.all ? "t" : "f",
       until, options.reason.value_or("")});
  if (!done) return tl::make_unexpected(done.error());
  const auto paused = in_force(*session);
  if (!paused) return tl::make_unexpected(paused.error());
  if (options.json)
    fmt::print("{}\n", json{{"paused", *paused}}.dump(2));
  else
    show_pauses(*paused);
  return exit_success;
}

outcome<int> resume(const settings& from, const pause_options& options) {
  if (const auto good = check(options, "resume"); !good) return usage_failure(good.error().message);
  auto session = operator_session::open(from, "outboxd resume");
  if (!session) return tl::make_unexpected(session.error());
  const auto done =
      session->execute("SELECT {0}.resume($1::text[], $2::text[], $3::boolean, nullif($4::text, ''))",
                       {array_literal(options.event_types), array_literal(options.aggregate_types),
                        options.all ? "t" : "f", options.reason.value_or("")});
  if (!done) return tl::make_unexpected(done.error());
  const auto ended = done->number_at(0, 0);
  const auto paused = in_force(*session);
  if (!paused) return tl::make_unexpected(paused.error());
  if (options.json) {
    fmt::print("{}\n", json{{"ended", ended}, {"paused", *paused}}.dump(2));
    return exit_success;
  }
  if (ended == 0)
    fmt::print("nothing of that was paused\n");
  else
    fmt::print("resumed: {} {} ended\n", ended, ended == 1 ? "pause" : "pauses");
  show_pauses(*paused);
  return exit_success;
}

}  // namespace

int pause_command(const settings& from, const pause_options& options) {
  const auto done = pause(from, options);
  return done ? *done : report(done.error());
}

int resume_command(const settings& from, const pause_options& options) {
  const auto done = resume(from, options);
  return done ? *done : report(done.error());
}

}  // namespace outboxd::app
