// lock_holders: detects other sessions' locks or notifications that have obstructed the leader for ten
// seconds. `outboxd status` and `outboxd check` name the sessions.
#pragma once

#include <array>
#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flow/stream/notices.hpp"
#include "pg/connection.hpp"
#include "pg/schema_name.hpp"

namespace outboxd::relay {

// PostgreSQL has no lock that only a relay could take, and any user may lock an object that the user may read
// or change.
class lock_holder_watch {
 public:
  using clock = std::chrono::steady_clock;
  using system_time = std::chrono::system_clock::time_point;

  // claim_timeout: a relay that has been silent for this long no longer leads, even if its session still
  // holds locks.
  lock_holder_watch(const pg::schema_name& schema, std::chrono::milliseconds claim_timeout)
      : schema_(schema), claim_timeout_(claim_timeout) {}

  // Sets whether the leader is currently prevented from `what`.
  void set(flow::keeps_from what, bool now_kept);
  // The server process that floods the channel with notifications; 0: none.
  void set_loudest(int process);

  // An obstacle that has lasted for ten seconds.
  struct obstacle {
    std::string words;
    system_time since;
  };
  // Looks for obstacles if a look is due, on a session with the relay's statements. Returns what to log.
  // shard: the shard that the relay leads. rows_stay: marks succeed, but leave some rows unchanged.
  boost::asio::awaitable<result<std::vector<obstacle>>> look(pg::connection& link, int shard, bool rows_stay);

  // Returns an obstacle to leading or writing, or null. A leader that cannot become idle still works, so that
  // case does not count.
  const obstacle* locked_out() const;

 private:
  struct watch {
    std::optional<clock::time_point> next_look;  // set while the obstacle lasts
    system_time since;
    int looks = 0;  // successive looks that found an obstacle
    std::optional<obstacle> told;
  };

  watch& of(flow::keeps_from what) { return watches_[static_cast<std::size_t>(what)]; }
  const watch& of(flow::keeps_from what) const { return watches_[static_cast<std::size_t>(what)]; }
  using words = std::optional<std::string>;
  boost::asio::awaitable<result<words>> find(pg::connection& link, flow::keeps_from what, int shard,
                                             bool rows_stay);
  // Looks for a session whose lock prevents `what`; returns the shard, or 0.
  boost::asio::awaitable<result<std::optional<int>>> find_holder(pg::connection& link, std::string_view what);

  const pg::schema_name& schema_;
  std::chrono::milliseconds claim_timeout_;
  std::array<watch, 4> watches_;
  int loudest_ = 0;
};

}  // namespace outboxd::relay
