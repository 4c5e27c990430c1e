#include "relay/lock_holders.hpp"

#include <fmt/format.h>

#include <utility>

#include "core/failpoint.hpp"
#include "pg/binary.hpp"
#include "store/relay_statements.hpp"

namespace outboxd::relay {
namespace {

using namespace std::chrono_literals;
using flow::keeps_from;

// An obstacle is logged only if two looks find it, ten seconds after it began.
constexpr auto between_looks = 5s;
constexpr auto longest_look = 10s;

constexpr std::array all_kinds{keeps_from::leading, keeps_from::sleeping, keeps_from::writing,
                               keeps_from::hearing};

// If a rule replaced a statement with nothing when the statement was planned, its plan depends on no table,
// so PostgreSQL never plans it again (observed in 15; DISCARD PLANS does not help either). Each statement is
// first parsed unnamed: that takes all locks, so an error because of a lock or a rule occurs before anything
// is deallocated. The next look tries again.
boost::asio::awaitable<result<void>> prepare_anew(pg::connection& link) {
  pg::pipeline ask;
  ask.text("SELECT name, statement FROM pg_prepared_statements WHERE name <> ''");
  OUTBOXD_CO_TRY(const auto found, co_await link.execute(std::move(ask), longest_look));
  pg::pipeline again;
  const pg::rows& all = found.front();
  for (int row = 0; row < all.size(); ++row) again.prepare({}, std::string(all.at(row, 1)));
  again.text("DEALLOCATE ALL");
  for (int row = 0; row < all.size(); ++row)
    again.prepare(std::string(all.at(row, 0)), std::string(all.at(row, 1)));
  OUTBOXD_CO_TRY_VOID(co_await link.execute_segments(std::move(again), longest_look));
  co_return result<void>();
}

}  // namespace

void lock_holder_watch::set(keeps_from what, bool now_kept) {
  watch& one = of(what);
  if (!now_kept) {
    one = {};
  } else if (!one.next_look) {
    one.next_look = clock::now() + hastened(between_looks);
    one.since = std::chrono::system_clock::now();
  }
}

void lock_holder_watch::set_loudest(int process) {
  loudest_ = process;
  set(keeps_from::hearing, process != 0);
}

const lock_holder_watch::obstacle* lock_holder_watch::locked_out() const {
  for (const keeps_from what : {keeps_from::leading, keeps_from::writing})
    if (of(what).told) return &*of(what).told;
  return nullptr;
}

boost::asio::awaitable<result<std::vector<lock_holder_watch::obstacle>>> lock_holder_watch::look(
    pg::connection& link, int shard, bool rows_stay) {
  std::vector<obstacle> out;
  const auto now = clock::now();
  for (const keeps_from what : all_kinds) {
    watch& one = of(what);
    if (!one.next_look || *one.next_look > now) continue;
    const auto found = co_await find(link, what, shard, rows_stay);
    if (!found) co_return tl::make_unexpected(found.error());
    if (!one.next_look) continue;  // the obstacle has ended in the meantime
    one.next_look = now + hastened(between_looks);
    if (!*found) {
      one.looks = 0;
      one.told.reset();
      one.since = std::chrono::system_clock::now();
    } else if (++one.looks == 2) {
      one.told = obstacle{**found, one.since};
      out.push_back(*one.told);
    }
  }
  co_return out;
}

boost::asio::awaitable<result<lock_holder_watch::words>> lock_holder_watch::find(pg::connection& link,
                                                                                 keeps_from what, int shard,
                                                                                 bool rows_stay) {
  switch (what) {
    case keeps_from::leading: {  // usually held by the leader
      OUTBOXD_CO_TRY(const auto held, co_await find_holder(link, "leading"));
      if (!held) co_return words();
      co_return fmt::format(
          "no relay can lead shard {} of {}: a session that is not a relay's, or no longer, holds its leader "
          "lock; `outboxd status` names it",
          *held, schema_.name());
    }
    case keeps_from::sleeping:
      co_return fmt::format(
          "the leader of shard {} of {} polls and cannot be idle: another session holds its idle lock; "
          "`outboxd status` names it",
          shard, schema_.name());
    case keeps_from::hearing:
      co_return fmt::format(
          "the channel {} is flooded with notifications, so the leader rarely listens: pid {} sends them",
          schema_.name(), loudest_);
    case keeps_from::writing:
      break;
  }
  // Statements are also deferred for other reasons, such as a full disk.
  OUTBOXD_CO_TRY(const auto table_held, co_await find_holder(link, "writing"));
  if (table_held)
    co_return fmt::format(
        "events of {} cannot be read or marked as published: another session has locked their table; "
        "`outboxd status` names it",
        schema_.name());
  OUTBOXD_CO_TRY_VOID(co_await prepare_anew(link));
  if (!rows_stay) co_return words();
  co_return fmt::format(
      "events of {} cannot be marked as published: another session has locked their rows (`outboxd status` "
      "names it), or a trigger leaves them unchanged (`outboxd check` names it)",
      schema_.name());
}

// If PostgreSQL rejects the query, the result is empty.
boost::asio::awaitable<result<std::optional<int>>> lock_holder_watch::find_holder(pg::connection& link,
                                                                                  std::string_view what) {
  pg::pipeline steps;
  steps.run(std::string(store::statement::lock_holders), {pg::int8(claim_timeout_.count())});
  OUTBOXD_CO_TRY(const auto answer, co_await link.execute_segments(std::move(steps), longest_look));
  const auto& only = answer.front();
  if (only.refusal) co_return std::optional<int>();
  const pg::rows& holders = only.answers.front();
  for (int row = 0; row < holders.size(); ++row)
    if (holders.at(row, 0) == what) co_return holders.is_null(row, 1) ? 0 : pg::read_int4(holders.at(row, 1));
  co_return std::optional<int>();
}

}  // namespace outboxd::relay
