// pruner: deletes what retention.published and retention.processed no longer keep, and keeps partitions, on a
// session of its own.
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

// How often it looks for what has become old.
inline constexpr std::chrono::seconds prune_interval{60};

// Beside the stream, and in small statements with a pause after each, so that the events under way hardly
// notice. It waits for no lock. Shared: its coroutine holds it.
class pruner {
 public:
  pruner(const boost::asio::any_io_executor& on, const postgres_settings& settings,
         const retention_settings& keep, prune_report report);

  // Until stop().
  boost::asio::awaitable<void> run();
  void stop() { session_.stop(); }

 private:
  using clock = std::chrono::steady_clock;

  // What a statement has come to.
  struct portion {
    std::int64_t deleted = 0;
    std::int64_t kept = 0;  // held on to by somebody
    std::string why_kept;
    bool more = false;
  };

  // One kind of rows: its state outlives the session.
  struct work {
    std::string sql;  // not prepared: that would ask for the table's lock once more
    flow::prune_pace pace;
    std::string said;       // the latest refusal that was reported
    std::string said_kept;  // the latest reason why rows stay
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
  flow::prune_walk walk_;                         // of events
  timestamp reached_ = timestamp::min();          // of records: older ones are deleted
  std::optional<clock::time_point> from_oldest_;  // of records: the latest run that began at the oldest
};

}  // namespace outboxd::relay
