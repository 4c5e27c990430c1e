// pruner: deletes rows that retention.published and retention.processed no longer keep, and maintains
// partitions, on a session of its own.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <optional>
#include <string>

#include "core/event.hpp"
#include "flow/retention/prune_pace.hpp"
#include "flow/retention/prune_walk.hpp"
#include "relay/database_session.hpp"
#include "relay/kept_session.hpp"
#include "relay/partition_keeper.hpp"
#include "relay/prune_report.hpp"
#include "relay/retention.hpp"

namespace outboxd::relay {

// The interval between two searches for old rows.
inline constexpr std::chrono::seconds prune_interval{60};

// Works next to the stream, in small statements with a pause after each, so that events are hardly delayed.
// The pruner waits for no lock. The object is shared, because its coroutine keeps a reference to it.
class pruner {
 public:
  pruner(const boost::asio::any_io_executor& on, const postgres_settings& settings,
         const retention_settings& keep, prune_report report);

  // Runs until stop().
  boost::asio::awaitable<void> run();
  void stop() { session_.stop(); }

 private:
  using clock = std::chrono::steady_clock;

  // The result of one statement.
  struct portion {
    std::int64_t deleted = 0;
    std::int64_t kept = 0;  // old rows that others lock or reference
    std::string why_kept;
    bool more = false;
  };

  // The state for one kind of rows, which outlives the session.
  struct work {
    std::string sql;  // not prepared, because preparing would lock the table a second time
    flow::prune_pace pace;
    std::string said;       // the last error reported
    std::string said_kept;  // the last reported reason why rows are kept
  };

  boost::asio::awaitable<result<void>> serve(pg::connection& link);
  boost::asio::awaitable<result<void>> prune(pg::connection& link, prunable what);
  void begin(prunable what, clock::time_point now);
  bool tolerates(prunable what, const error& refusal);
  void end(const prune_run& run);
  pg::pipeline next_statement(prunable what);
  portion read(prunable what, const pg::rows& answer);
  retention_settings::age age_of(prunable what) const;
  work& of(prunable what) { return works_[static_cast<std::size_t>(what)]; }

  const postgres_settings& settings_;
  retention_settings keep_;
  prune_report report_;
  kept_session session_;
  partition_keeper partitions_;
  std::array<work, all_prunable.size()> works_;
  flow::prune_walk walk_;                         // for events
  timestamp reached_ = timestamp::min();          // for records: all records older than this are deleted
  std::optional<clock::time_point> from_oldest_;  // for records: when the last run from the oldest record
                                                  // began
};

}  // namespace outboxd::relay
