// pause and resume: what they print.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "app/change/pausing.hpp"
#include "app/commands.hpp"
#include "app/pause_words.hpp"

namespace outboxd::app {
namespace {

using nlohmann::json;

void show_pauses(const json& paused) {
  for (const auto& one : paused) fmt::print("paused: {}\n", words_of(pause_from(one)));
}

outcome<int> pause(const settings& from, const pause_options& options) {
  if (const auto good = check_order("pause", options); !good) return usage_failure(good.error().message);
  auto session = operator_session::open(from, "outboxd pause");
  if (!session) return tl::make_unexpected(session.error());
  const auto until = end_of_pause(*session, options);
  if (!until) return tl::make_unexpected(until.error());
  const auto unseen = unseen_types(*session, options);
  if (!unseen) return tl::make_unexpected(unseen.error());
  for (const auto& words : *unseen) say_error(words);
  if (const auto begun = begin_pause(*session, options, *until); !begun)
    return tl::make_unexpected(begun.error());
  const auto paused = pauses_in_force(*session);
  if (!paused) return tl::make_unexpected(paused.error());
  if (options.json)
    fmt::print("{}\n", json{{"paused", *paused}}.dump(2));
  else
    show_pauses(*paused);
  return exit_success;
}

outcome<int> resume(const settings& from, const pause_options& options) {
  if (const auto good = check_order("resume", options); !good) return usage_failure(good.error().message);
  auto session = operator_session::open(from, "outboxd resume");
  if (!session) return tl::make_unexpected(session.error());
  const auto ended = end_pauses(*session, options);
  if (!ended) return tl::make_unexpected(ended.error());
  const auto paused = pauses_in_force(*session);
  if (!paused) return tl::make_unexpected(paused.error());
  if (options.json) {
    fmt::print("{}\n", json{{"ended", *ended}, {"paused", *paused}}.dump(2));
    return exit_success;
  }
  if (*ended == 0)
    fmt::print("nothing of that was paused\n");
  else
    fmt::print("resumed: {} {} ended\n", *ended, *ended == 1 ? "pause" : "pauses");
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
