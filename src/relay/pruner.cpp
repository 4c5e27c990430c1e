#include "relay/pruner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "pg/binary.hpp"

namespace outboxd::relay {
namespace {

using namespace std::chrono_literals;

// Other sessions may lock the table for long; the pruner tries again later.
constexpr auto lock_wait = 20ms;

// After this many consecutive errors, the run ends and the error is logged.
constexpr int most_refused_deletes = 3;

// A new run from the oldest record on finds records that were locked, or that were written late with an old
// time.
constexpr auto from_oldest_interval = 1h;

}  // namespace

pruner::pruner(const boost::asio::any_io_executor& on, const postgres_settings& settings,
               const retention_settings& keep, prune_report report)
    : settings_(settings),
      keep_(keep),
      report_(std::move(report)),
      session_(on, settings),
      partitions_(session_, settings_, keep_.published, report_),
      walk_(keep.published.value_or(0ms)) {
  for (auto& one : store::relay_statements(settings.schema, payload_type::jsonb, settings.after_publish)) {
    if (one.name == store::statement::prune) of(prunable::published).sql = std::move(one.sql);
    if (one.name == store::statement::prune_processed) of(prunable::processed).sql = std::move(one.sql);
  }
}

boost::asio::awaitable<void> pruner::run() {
  co_await session_.run([this](pg::connection& link) { return serve(link); });
}

boost::asio::awaitable<result<void>> pruner::serve(pg::connection& link) {
  pg::pipeline first;
  first.text(fmt::format("SET statement_timeout = {}", settings_.claim_timeout.count() / 2));
  first.text(fmt::format("SET lock_timeout = {}", std::chrono::milliseconds(lock_wait).count()));
  OUTBOXD_CO_TRY_VOID(co_await link.execute(std::move(first), settings_.connect_timeout));
  while (!session_.stopping()) {
    const auto next = clock::now() + prune_interval;
    OUTBOXD_CO_TRY(const auto partitioned, co_await partitions_.rotate(link));
    session_.reset_pause();
    for (const auto what : all_prunable) {
      if (what == prunable::partitions ? !partitioned : !age_of(what)) continue;
      if (what == prunable::published && partitioned) continue;  // whole partitions are dropped instead
      result<void> pruned;
      if (what == prunable::partitions)
        pruned = co_await partitions_.retire(link);
      else
        pruned = co_await prune(link, what);
      if (!pruned) co_return pruned;
      session_.reset_pause();
    }
    co_await session_.rest(link, next);
    if (link.lost()) co_return tl::make_unexpected(*link.lost());
  }
  co_return result<void>();
}

// Returns only errors of the session.
boost::asio::awaitable<result<void>> pruner::prune(pg::connection& link, prunable what) {
  const auto began = clock::now();
  prune_run so_far{.what = what};
  result<void> out;
  begin(what, began);
  for (bool more = true; more && !session_.stopping();) {
    const auto asked_at = clock::now();
    pg::pipeline next = next_statement(what);
    const auto answered = co_await link.execute(std::move(next), settings_.claim_timeout);
    auto& pace = of(what).pace;
    clock::duration pause{};
    if (answered) {
      of(what).said.clear();
      portion some = read(what, answered->front());
      so_far.rows += some.deleted;
      so_far.kept += some.kept;
      if (so_far.why_kept.empty()) so_far.why_kept = std::move(some.why_kept);
      so_far.complete = !some.more;
      more = some.more;
      if (some.deleted > 0) report_.deleted(what, some.deleted);
      pause = pace.after(clock::now() - asked_at, report_.load());
    } else if (link.lost() || !is_of_the_statement(link.last_sqlstate())) {
      out = tl::make_unexpected(answered.error());
      break;
    } else {
      pause = pace.after_refusal();
      more = tolerates(what, answered.error());
    }
    if (more) co_await session_.rest(link, clock::now() + pause);
    if (link.lost()) {
      out = tl::make_unexpected(*link.lost());
      break;
    }
  }
  so_far.took = std::chrono::duration_cast<std::chrono::milliseconds>(clock::now() - began);
  end(so_far);
  co_return out;
}

// A run that begins after the kept rows does not see them, so it must not report them.
void pruner::end(const prune_run& run) {
  work& its = of(run.what);
  if (run.kept > 0 && std::exchange(its.said_kept, run.why_kept) != run.why_kept)
    report_.kept(run.what, run.kept, run.why_kept);
  report_.ended(run);
}

void pruner::begin(prunable what, clock::time_point now) {
  switch (what) {
    case prunable::published:
      walk_.begin(now);
      break;
    case prunable::processed:
      if (from_oldest_ && now - *from_oldest_ < from_oldest_interval) break;
      from_oldest_ = now;
      reached_ = timestamp::min();
      break;
    case prunable::partitions:
      break;
  }
}

pg::pipeline pruner::next_statement(prunable what) {
  const auto age = pg::int8(age_of(what)->count());
  const work& its = of(what);
  const auto most = pg::int4(its.pace.rows());
  pg::pipeline out;
  switch (what) {
    case prunable::published:
      out.run_unnamed(
          its.sql, {pg::int8(walk_.from()), age, most, pg::int8(std::numeric_limits<std::int64_t>::max())});
      break;
    case prunable::processed:
      out.run_unnamed(its.sql, {pg::timestamptz(reached_), age, most});
      break;
    case prunable::partitions:
      break;
  }
  return out;
}

// The pace still has the number of rows that the statement was given.
pruner::portion pruner::read(prunable what, const pg::rows& answer) {
  const auto number = [&](int index) { return pg::read_int8(answer.at(0, index)); };
  const auto most = of(what).pace.rows();
  switch (what) {
    case prunable::published: {
      const bool stopped = pg::read_bool(answer.at(0, 7));
      flow::prune_walk::stretch found{
          .rows = number(1), .full = stopped || number(1) >= most, .young = number(4)};
      if (found.rows > 0) found.last = number(2);
      if (!answer.is_null(0, 3)) found.last_old = number(3);
      return {.deleted = number(0),
              .kept = number(5),
              .why_kept = std::string(answer.at(0, 6)),
              .more = walk_.on_walked(found, clock::now())};
    }
    case prunable::processed:
      reached_ = pg::read_timestamp(answer.at(0, 1));
      return {.deleted = number(0), .kept = 0, .why_kept = {}, .more = number(0) >= most};
    case prunable::partitions:
      break;
  }
  return {};
}

// Returns whether to retry the statement in this run.
bool pruner::tolerates(prunable what, const error& refusal) {
  work& its = of(what);
  if (its.pace.refusals() < most_refused_deletes) return true;
  if (std::exchange(its.said, refusal.message) != refusal.message) report_.refused(what, refusal);
  return false;
}

retention_settings::age pruner::age_of(prunable what) const {
  switch (what) {
    case prunable::published:
    case prunable::partitions:
      return keep_.published;
    case prunable::processed:
      return keep_.processed;
  }
  return {};
}

}  // namespace outboxd::relay
