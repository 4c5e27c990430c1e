// partition_keeper: starts new partitions of the outbox, and drops those that contain no row to keep.
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

// Used by the pruner, on its session. The SQL functions in sql/objects/partitions.sql do each step; this
// class decides when, and scans a whole partition before it is dropped, in ranges of rows as retention does.
class partition_keeper {
 public:
  partition_keeper(kept_session& session, const postgres_settings& settings, retention_settings::age keep,
                   const prune_report& report);

  // Starts the next period when it is due, and creates the partitions that must exist in advance. Returns
  // whether the outbox is partitioned. rotate() and retire() return only errors of the session.
  boost::asio::awaitable<result<bool>> rotate(pg::connection& link);

  // Drops partitions that are old and contain only finished events. In a partition that has rows to keep, the
  // other rows are deleted one by one.
  boost::asio::awaitable<result<void>> retire(pg::connection& link);

 private:
  using clock = kept_session::clock;
  using answer =
      result<std::optional<pg::rows>>;  // nullopt: PostgreSQL has rejected the statement repeatedly

  // The seqs of a partition: above `after` and below `end`.
  struct range {
    std::int64_t after = 0;
    std::int64_t end = 0;
  };
  struct finding {
    bool all_done = false;
    std::string seen;  // the snapshot in which the scan began
  };
  using found = result<std::optional<finding>>;

  // Retries the statement several times after an error, with growing pauses.
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
  std::string said_;                                          // the last error reported
  std::set<std::pair<std::string, std::int64_t>> mentioned_;  // partitions left alone; each is reported once
  std::map<std::int64_t, clock::time_point> not_before_;      // when to scan partitions with rows to keep
                                                              // again
};

}  // namespace outboxd::relay
