// partition_keeper: begins partitions of the outbox, and drops those in which nothing is left to be kept.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "flow/retention/prune_pace.hpp"
#include "relay/kept_session.hpp"
#include "relay/prune_report.hpp"

namespace outboxd::relay {

// For the pruner, on its session. The SQL functions of sql/objects/partitions.sql do what there is to do in
// one step; here is when, and the look at a whole partition before it is dropped, in stretches as retention
// deletes.
class partition_keeper {
 public:
  partition_keeper(kept_session& session, const postgres_settings& settings, retention_settings::age keep,
                   const prune_report& report);

  // Begins the next period if it is time for that, and makes the partitions that are to be ready. Whether the
  // outbox is partitioned at all. An error is one of the session, here and below.
  boost::asio::awaitable<result<bool>> rotate(pg::connection& link);

  // Drops what is old and done. Where something has to stay, what need not is deleted row by row.
  boost::asio::awaitable<result<void>> retire(pg::connection& link);

 private:
  using clock = kept_session::clock;
  using answer =
      result<std::optional<pg::rows>>;  // none: PostgreSQL refuses it, and has done so for long enough

  // Seqs of a partition: above `after` and below `end`.
  struct range {
    std::int64_t after = 0;
    std::int64_t end = 0;
  };
  struct finding {
    bool all_done = false;
    std::string seen;  // the snapshot of when it began
  };
  using found = result<std::optional<finding>>;

  // Once more after a refusal, with growing pauses, some times.
  boost::asio::awaitable<answer> ask(pg::connection& link, const std::string& sql,
                                     std::vector<std::string> parameters);
  boost::asio::awaitable<found> look_through(pg::connection& link, range all);
  boost::asio::awaitable<result<void>> prune_rows(pg::connection& link, range all);
  boost::asio::awaitable<void> rest_after(pg::connection& link, clock::time_point began);
  static range range_of(std::int64_t which, bool is_first);

  kept_session& session_;
  const postgres_settings& settings_;
  retention_settings::age keep_;
  const prune_report& report_;
  std::string layout_, rotate_, over_, scan_, drop_, prune_;  // SQL
  flow::prune_pace pace_;
  std::string said_;                                          // the latest refusal that was reported
  std::set<std::pair<std::string, std::int64_t>> mentioned_;  // what is left alone, once each
  std::map<std::int64_t, clock::time_point> not_before_;      // partitions that are kept by something
};

}  // namespace outboxd::relay
