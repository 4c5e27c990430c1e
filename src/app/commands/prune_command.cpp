// prune: deletes published events, and the records of processed events, by age and in portions.
#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>

#include "app/command/outcome.hpp"
#include "app/commands/commands.hpp"
#include "app/commands/flags.hpp"
#include "app/config/units.hpp"
#include "app/operate/operator_session.hpp"
#include "app/operate/order.hpp"

namespace outboxd::app {
namespace {

struct prune_options {
  std::string older_than;
  std::optional<std::string> reason;  // for outbox.audit
  bool dry_run = false;
  bool json = false;
};

constexpr int rows_a_transaction = 5000;  // most rows in one transaction
constexpr std::chrono::hours longest_age(24 * 36'500);

constexpr std::string_view count_published =
    "SELECT count(*) FROM {0}.event AS e WHERE e.status = 'published' AND e.published_at < $1::timestamptz";
constexpr std::string_view count_processed =
    "SELECT count(*) FROM {0}.processed_event AS p WHERE p.processed_at < $1::timestamptz";

struct pruned_rows {
  std::int64_t gone = 0;  // rows deleted, or with --dry-run the rows that would be deleted
  std::int64_t kept = 0;  // rows that something else refers to or protects
  std::string why;        // the reason for the first kept row
};

outcome<pruned_rows> count(operator_session& session, std::string_view what, const std::string& before) {
  OUTBOXD_TRY(const auto counted, session.execute(what, {before}));
  return pruned_rows{.gone = counted.number_at(0, 0), .kept = 0, .why = {}};
}

outcome<pruned_rows> prune_published(operator_session& session, const std::string& before,
                                     const std::string& audit) {
  pruned_rows all;
  for (std::string after = "0";;) {
    constexpr auto done_sql =
        "SELECT p.pruned, p.upto, p.kept, coalesce(p.why, '')"
        " FROM {{0}}.prune_from($1::timestamptz, {}, $2::bigint, $3::bigint) AS p";
    OUTBOXD_TRY(const auto done,
                session.execute(fmt::format(done_sql, rows_a_transaction), {before, audit, after}));
    const auto gone = done.number_at(0, 0);
    all.gone += gone;
    all.kept += done.number_at(0, 2);
    if (all.why.empty()) all.why = done.at(0, 3);
    if (gone == 0) return all;
    after = done.at(0, 1);
  }
}

outcome<pruned_rows> prune_processed(operator_session& session, const std::string& before,
                                     const std::string& audit) {
  pruned_rows all;
  for (;;) {
    OUTBOXD_TRY(const auto done,
                session.execute(fmt::format("SELECT {{0}}.prune_processed($1::timestamptz, {}, $2::bigint)",
                                            rows_a_transaction),
                                {before, audit}));
    const auto gone = done.number_at(0, 0);
    if (gone == 0) return all;
    all.gone += gone;
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
  OUTBOXD_TRY(auto session, operator_session::open(from, "outboxd prune"));
  // Read once, by the server's clock. Rows that grow old enough during the run are left for the next one.
  OUTBOXD_TRY(const auto before, session.resolve_time("--older-than", options.older_than));
  std::optional<std::string> audit;
  if (!options.dry_run) {
    OUTBOXD_TRY(auto opened,
                session.begin_audit("prune", "--older-than " + options.older_than, options.reason));
    audit = std::move(opened);
  }
  const auto published =
      audit ? prune_published(session, before, *audit) : count(session, count_published, before);
  if (!published) return tl::make_unexpected(published.error());
  const auto processed =
      audit ? prune_processed(session, before, *audit) : count(session, count_processed, before);
  if (!processed) return tl::make_unexpected(processed.error());
  if (options.json) {
    fmt::print("{}\n", nlohmann::ordered_json({{"dry_run", options.dry_run},
                                               {"before", before},
                                               {"published_events", published->gone},
                                               {"processed_events", processed->gone},
                                               {"kept_events", published->kept},
                                               {"kept_because", published->why}})
                           .dump());
  } else {
    fmt::print("{} {} published events and {} records of processed events from before {}\n",
               options.dry_run ? "would prune" : "pruned", published->gone, processed->gone, before);
    if (published->kept > 0) fmt::print("{} more events stay: {}\n", published->kept, published->why);
  }
  return exit_success;
}

}  // namespace

void add_prune_command(CLI::App& app, command_set& to) {
  CLI::App* const prune =
      app.add_subcommand("prune", "delete published events, and records of processed ones, by age");
  const auto options = std::make_shared<prune_options>();
  prune->add_option("--older-than", options->older_than, "how long to keep them: 7d")
      ->take_last()
      ->type_name("");
  add_reason(*prune, options->reason);
  prune->add_flag("--dry-run", options->dry_run, "count what would be deleted and delete nothing");
  add_json(*prune, options->json);
  to.push_back({prune, purpose::migration,
                [options](const settings& from) { return report(run_prune(from, *options)); }});
}

}  // namespace outboxd::app
