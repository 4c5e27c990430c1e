#include "relay/partition_keeper.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "pg/binary.hpp"

namespace outboxd::relay {
namespace {

using namespace std::chrono_literals;

// After this many consecutive errors, the run ends and the error is logged.
constexpr int most_refused_drops = 3;

// A partition with rows to keep is scanned again after this time. These scans use only 1/look_share of the
// time.
constexpr auto look_again = 10min;
constexpr int look_share = 20;

constexpr int width_bits = 32;  // log2 of the seqs per partition, see sql/objects/partitions.sql

constexpr auto lowest = std::numeric_limits<std::int64_t>::min();

template <class... Text>
std::vector<std::string> list_of(Text... parameters) {
  std::vector<std::string> out;
  (out.push_back(std::move(parameters)), ...);
  return out;
}

}  // namespace

partition_keeper::partition_keeper(kept_session& session, const postgres_settings& settings,
                                   retention_settings::age keep, const prune_report& report)
    : session_(session), settings_(settings), keep_(keep), report_(report) {
  for (auto& one : store::relay_statements(settings.schema, payload_type::jsonb, settings.after_publish))
    for (const auto& [name, into] :
         {std::pair(store::statement::layout, &layout_), std::pair(store::statement::rotate, &rotate_),
          std::pair(store::statement::over, &over_), std::pair(store::statement::scan, &scan_),
          std::pair(store::statement::drop, &drop_), std::pair(store::statement::prune, &prune_)})
      if (one.name == name) *into = one.sql;
}

boost::asio::awaitable<partition_keeper::answer> partition_keeper::ask(pg::connection& link,
                                                                       const std::string& sql,
                                                                       std::vector<std::string> parameters) {
  for (int refusals = 0; !session_.stopping();) {
    pg::pipeline next;
    next.run_unnamed(sql, parameters);
    auto answered = co_await link.execute(std::move(next), settings_.claim_timeout);
    if (answered) {
      said_.clear();
      co_return std::move(answered->front());
    }
    if (link.lost() || !is_of_the_statement(link.last_sqlstate()))
      co_return tl::make_unexpected(answered.error());
    const auto pause = pace_.after_refusal();
    if (++refusals >= most_refused_drops) {
      if (std::exchange(said_, answered.error().message) != answered.error().message)
        report_.refused(prunable::partitions, answered.error());
      break;
    }
    co_await session_.rest(link, clock::now() + pause);
    if (link.lost()) co_return tl::make_unexpected(*link.lost());
  }
  co_return std::optional<pg::rows>();
}

boost::asio::awaitable<void> partition_keeper::rest_after(pg::connection& link, clock::time_point began) {
  const auto now = clock::now();
  co_await session_.rest(link, now + pace_.after(now - began, report_.load()));
}

boost::asio::awaitable<result<bool>> partition_keeper::rotate(pg::connection& link) {
  OUTBOXD_CO_TRY(const auto layout, co_await ask(link, layout_, list_of()));
  if (!layout || layout->size() == 0 || !pg::read_bool(layout->at(0, 0))) co_return false;
  OUTBOXD_CO_TRY(const auto rotated, co_await ask(link, rotate_, list_of()));
  if (!rotated) co_return true;
  decltype(mentioned_) left_alone;
  for (int row = 0; row < rotated->size(); ++row) {
    const std::string what(rotated->at(row, 0));
    const auto number = pg::read_int8(rotated->at(row, 1));
    const bool is_left = what == "detached" || what == "taken";
    if (is_left) left_alone.emplace(what, number);
    if (!is_left || !mentioned_.contains({what, number})) report_.rotated(what, number);
  }
  mentioned_ = std::move(left_alone);
  co_return true;
}

// The range of the first partition includes all lower seqs, although the rows of earlier partitions no longer
// exist.
partition_keeper::range partition_keeper::range_of(std::int64_t which, bool is_first) {
  const auto end = which + 1 > (std::numeric_limits<std::int64_t>::max() >> width_bits)
                       ? std::numeric_limits<std::int64_t>::max()
                       : (which + 1) << width_bits;
  return {is_first ? lowest : (which << width_bits) - 1, end};
}

boost::asio::awaitable<result<void>> partition_keeper::retire(pg::connection& link) {
  const auto began = clock::now();
  prune_run so_far{.what = prunable::partitions};
  auto age = list_of(pg::int8(keep_ ? keep_->count() : 0));
  OUTBOXD_CO_TRY(const auto over, co_await ask(link, over_, std::move(age)));
  if (!over) co_return result<void>();
  std::vector<std::int64_t> numbers;
  for (int row = 0; row < over->size(); ++row) numbers.push_back(pg::read_int8(over->at(row, 0)));
  std::erase_if(not_before_, [&](const auto& one) {
    return std::find(numbers.begin(), numbers.end(), one.first) == numbers.end();
  });
  for (const auto which : numbers) {
    if (session_.stopping()) break;
    if (const auto known = not_before_.find(which);
        known != not_before_.end() && known->second > clock::now())
      continue;
    const auto look_began = clock::now();
    const auto seqs = range_of(which, which == numbers.front());
    OUTBOXD_CO_TRY(const auto looked, co_await look_through(link, seqs));
    if (!looked) continue;
    bool stays = !looked->all_done;
    if (!stays) {
      auto which_one = list_of(pg::int8(which), looked->seen);
      OUTBOXD_CO_TRY(const auto dropped, co_await ask(link, drop_, std::move(which_one)));
      if (!dropped) continue;
      stays = !dropped->is_null(0, 0);
      if (!stays) {
        ++so_far.rows;
        report_.deleted(prunable::partitions, 1);
      }
    } else if (keep_) {
      const auto pruned = co_await prune_rows(link, seqs);
      if (!pruned) co_return pruned;
    }
    if (stays) {
      const auto now = clock::now();
      not_before_[which] = now + std::max<clock::duration>(look_again, (now - look_began) * look_share);
    }
  }
  so_far.complete = true;
  so_far.took = std::chrono::duration_cast<std::chrono::milliseconds>(clock::now() - began);
  report_.ended(so_far);
  co_return result<void>();
}

boost::asio::awaitable<partition_keeper::found> partition_keeper::look_through(pg::connection& link,
                                                                               range all) {
  finding out;
  for (auto after = all.after; !session_.stopping();) {
    const auto asked_at = clock::now();
    const auto most = pace_.rows();
    auto stretch =
        list_of(pg::int8(after), pg::int8(all.end), pg::int8(keep_ ? keep_->count() : -1), pg::int4(most));
    OUTBOXD_CO_TRY(const auto got, co_await ask(link, scan_, std::move(stretch)));
    if (!got) co_return std::optional<finding>();
    const pg::rows& row = *got;
    if (out.seen.empty()) out.seen = row.at(0, 3);
    if (pg::read_int8(row.at(0, 2)) > 0) co_return std::optional(out);
    out.all_done = pg::read_int8(row.at(0, 0)) < most;
    if (out.all_done) co_return std::optional(out);
    after = pg::read_int8(row.at(0, 1));
    co_await rest_after(link, asked_at);
    if (link.lost()) co_return tl::make_unexpected(*link.lost());
  }
  co_return std::optional<finding>();
}

boost::asio::awaitable<result<void>> partition_keeper::prune_rows(pg::connection& link, range all) {
  for (auto after = all.after; !session_.stopping();) {
    const auto asked_at = clock::now();
    const auto most = pace_.rows();
    auto stretch = list_of(pg::int8(after), pg::int8(keep_->count()), pg::int4(most), pg::int8(all.end));
    OUTBOXD_CO_TRY(const auto got, co_await ask(link, prune_, std::move(stretch)));
    if (!got) break;
    const pg::rows& row = *got;
    if (const auto deleted = pg::read_int8(row.at(0, 0)); deleted > 0)
      report_.deleted(prunable::published, deleted);
    const bool stopped = pg::read_bool(row.at(0, 7));
    if (!stopped && pg::read_int8(row.at(0, 1)) < most) break;
    after = pg::read_int8(row.at(0, 2));
    co_await rest_after(link, asked_at);
    if (link.lost()) co_return tl::make_unexpected(*link.lost());
  }
  co_return result<void>();
}

}  // namespace outboxd::relay
