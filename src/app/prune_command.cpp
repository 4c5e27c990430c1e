// prune: deletes published events, and the records of processed ones, by age and in portions.
#include <fmt/format.h>

#include <chrono>

#include "app/commands.hpp"
#include "app/operator_session.hpp"
#include "app/units.hpp"

namespace outboxd::app {
namespace {

constexpr int rows_a_transaction = 5000;  // most rows in one transaction
constexpr std::chrono::hours longest_age(24 * 36'500);

struct kind {
  std::string_view function;
  std::string_view count;  // of what the function would delete
};
constexpr kind published_events{
    "prune_published",
    "SELECT count(*) FROM {0}.event AS e WHERE e.status = 'published' AND e.published_at < $1::timestamptz"};
constexpr kind processed_events{
    "prune_processed",
    "SELECT count(*) FROM {0}.processed_event AS p WHERE p.processed_at < $1::timestamptz"};

std::int64_t number(std::string_view text) {
  return std::strtoll(std::string(text).c_str(), nullptr, 10);
}

// `audit`: none for a dry run.
outcome<std::int64_t> prune(operator_session& session, const kind& what, const std::string& before,
                            const std::optional<std::string>& audit) {
  if (!audit) {
    const auto counted = session.execute(what.count, {before});
    if (!counted) return tl::make_unexpected(counted.error());
    return number(counted->at(0, 0));
  }
  std::int64_t all = 0;
  for (;;) {
    const auto done = session.execute(
        fmt::format("SELECT {{0}}.{}($1::timestamptz, {}, $2::bigint)", what.function, rows_a_transaction),
        {before, *audit});
    if (!done) return tl::make_unexpected(done.error());
    const auto pruned = number(done->at(0, 0));
    if (pruned == 0) return all;
    all += pruned;
  }
}

outcome<int> run_prune(const settings& from, const prune_options& options) {
  if (options.older_than.empty())
    return usage_failure("prune needs --older-than: how long to keep, for example --older-than 7d");
  const auto age = parse_duration(options.older_than);
  if (!age || *age > longest_age)
    return usage_failure(
        fmt::format("--older-than '{}' is not allowed; give a duration up to 36500d, for example 7d or 12h",
                    options.older_than));
  if (const auto good = check_reason(options.reason); !good) return usage_failure(good.error().message);
  auto session = operator_session::open(from, "outboxd prune");
  if (!session) return tl::make_unexpected(session.error());
  // Once, by the server's clock: what gets old enough while this goes on is left for the next time.
  const auto before = session->resolve_time("--older-than", options.older_than);
  if (!before) return tl::make_unexpected(before.error());
  std::optional<std::string> audit;
  if (!options.dry_run) {
    auto opened = session->begin_audit("prune", "--older-than " + options.older_than, options.reason);
    if (!opened) return tl::make_unexpected(opened.error());
    audit = std::move(*opened);
  }
  const auto published = prune(*session, published_events, *before, audit);
  if (!published) return tl::make_unexpected(published.error());
  const auto processed = prune(*session, processed_events, *before, audit);
  if (!processed) return tl::make_unexpected(processed.error());
  if (options.json) {
    fmt::print(
        "{{\"dry_run\": {}, \"before\": \"{}\", \"published_events\": {}, \"processed_events\": {}}}\n",
        options.dry_run, *before, *published, *processed);
  } else {
    fmt::print("{} {} published events and {} records of processed events from before {}\n",
               options.dry_run ? "would prune" : "pruned", *published, *processed, *before);
  }
  return exit_success;
}

}  // namespace

int prune_command(const settings& from, const prune_options& options) {
  const auto done = run_prune(from, options);
  return done ? *done : report(done.error());
}

}  // namespace outboxd::app
