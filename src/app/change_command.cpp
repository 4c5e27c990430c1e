// dead retry, dead discard and replay: changing the fate of selected events, portion by portion.
#include <fmt/format.h>

#include <chrono>

#include "app/commands.hpp"
#include "app/event_listing.hpp"

namespace outboxd::app {
namespace {

constexpr int portion = 1000;  // most events in one transaction
constexpr int shown_by_dry_run = 100;

struct change_words {
  std::string_view command;
  std::string_view function;  // see sql/0007_operator.sql
  std::string_view done;
  event_set from;
};

change_words words_of(change what) {
  switch (what) {
    case change::retry:
      return {"dead retry", "dead_retry", "pending again", event_set::dead};
    case change::discard:
      return {"dead discard", "dead_discard", "deleted", event_set::dead};
    case change::replay:
      return {"replay", "replay", "pending again", event_set::published};
  }
  return {};
}

std::string events(std::int64_t count) {
  return fmt::format("{} {}", count, count == 1 ? "event" : "events");
}

std::int64_t number(std::string_view text) {
  return std::strtoll(std::string(text).c_str(), nullptr, 10);
}

struct counts {
  std::int64_t matched = 0;
  std::int64_t changed = 0;
};

// A line on standard error now and then, for those who wait.
class progress {
 public:
  explicit progress(bool quiet) : quiet_(quiet) {}
  void show(const counts& now) {
    const auto at = std::chrono::steady_clock::now();
    if (quiet_ || at < next_) return;
    next_ = at + interval;
    say_error(fmt::format("{} so far", events(now.changed)));
  }

 private:
  static constexpr std::chrono::seconds interval{5};
  bool quiet_;
  std::chrono::steady_clock::time_point next_ = std::chrono::steady_clock::now() + interval;
};

// The selection is made once and kept by the server, outside of any transaction; then each portion is a transaction of its own.
outcome<counts> change_all(operator_session& session, const change_words& how, const condition& which,
                           bool quiet) {
  const auto selected = session.execute(
      fmt::format("DECLARE selected NO SCROLL CURSOR WITH HOLD FOR SELECT e.id FROM {{0}}.event AS e"
                  " WHERE {} ORDER BY e.seq",
                  which.sql),
      which.parameters);
  if (!selected) return tl::make_unexpected(selected.error());
  counts out;
  progress line(quiet);
  for (;;) {
    const auto next = session.execute(fmt::format("FETCH {} FROM selected", portion));
    if (!next) return tl::make_unexpected(next.error());
    if (next->size() == 0) return out;
    std::vector<std::string> ids;
    for (int row = 0; row < next->size(); ++row) ids.emplace_back(next->at(row, 0));
    const auto done =
        session.execute(fmt::format("SELECT {{0}}.{}($1::uuid[])", how.function), {array_literal(ids)});
    if (!done) return tl::make_unexpected(done.error());
    out.matched += static_cast<std::int64_t>(ids.size());
    out.changed += number(done->at(0, 0));
    line.show(out);
  }
}

outcome<int> preview(operator_session& session, const change_words& how, const selectors& resolved,
                     bool json) {
  const auto which = condition_of(resolved, how.from);
  const auto counted = session.execute(
      fmt::format("SELECT count(*) FROM {{0}}.event AS e WHERE {}", which.sql), which.parameters);
  if (!counted) return tl::make_unexpected(counted.error());
  const auto listed = read_listing(session, resolved, how.from, shown_by_dry_run);
  if (!listed) return tl::make_unexpected(listed.error());
  const auto matched = number(counted->at(0, 0));
  if (json) {
    fmt::print("{{\"dry_run\": true, \"matched\": {}, \"changed\": 0, \"more\": {}, \"events\": [\n", matched,
               listed->more);
    print_json(*listed);
    fmt::print("]}}\n");
    return exit_success;
  }
  fmt::print("{} would touch {}\n", how.command, events(matched));
  if (listed->shown > 0) print_table(*listed);
  if (listed->more) fmt::print("and more: these are the first {}\n", listed->shown);
  return exit_success;
}

outcome<int> run_change(const settings& from, change what, const change_options& options) {
  const auto how = words_of(what);
  if (const auto given = require_selectors(options.which, how.command); !given)
    return usage_failure(given.error().message);
  if (const auto good = check_selectors(options.which); !good) return usage_failure(good.error().message);
  auto session = operator_session::open(from, fmt::format("outboxd {}", how.command));
  if (!session) return tl::make_unexpected(session.error());
  const auto resolved = session->resolve(options.which);
  if (!resolved) return tl::make_unexpected(resolved.error());
  if (options.dry_run) return preview(*session, how, *resolved, options.json);
  const auto done = change_all(*session, how, condition_of(*resolved, how.from), options.json);
  if (!done) return tl::make_unexpected(done.error());
  if (options.json) {
    fmt::print("{{\"dry_run\": false, \"matched\": {}, \"changed\": {}}}\n", done->matched, done->changed);
    return exit_success;
  }
  fmt::print("{}: {} {}\n", how.command, events(done->changed), how.done);
  if (done->matched > done->changed)
    fmt::print("{} had been changed by others meanwhile\n", events(done->matched - done->changed));
  return exit_success;
}

}  // namespace

int change_command(const settings& from, change what, const change_options& options) {
  const auto done = run_change(from, what, options);
  return done ? *done : report(done.error());
}

}  // namespace outboxd::app
