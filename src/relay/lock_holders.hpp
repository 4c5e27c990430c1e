// lock_holders: whether other sessions' locks, or their notifications, have been in the way for ten seconds.
// `outboxd status` and `outboxd check` name the sessions.
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

// PostgreSQL has no lock that only a relay could take, and any user may lock what he may see or change.
class lock_holder_watch {
 public:
  using clock = std::chrono::steady_clock;
  using system_time = std::chrono::system_clock::time_point;

  // claim_timeout: a relay that is not heard of for so long leads no more, whatever its session holds.
  lock_holder_watch(const pg::schema_name& schema, std::chrono::milliseconds claim_timeout)
      : schema_(schema), claim_timeout_(claim_timeout) {}

  // Whether the leader is kept from this now.
  void set(flow::keeps_from what, bool now_kept);
  // The process at the server that floods the channel with notifications; 0: nobody does.
  void set_loudest(int process);

  // What has been in the way for ten seconds.
  struct obstacle {
    std::string words;
    system_time since;
  };
  // Takes a look if it is time for one, on a session with the relay's statements. Returns what to log. shard:
  // that it leads. rows_stay: marks are written, and leave some rows as they are.
  boost::asio::awaitable<result<std::vector<obstacle>>> look(pg::connection& link, int shard, bool rows_stay);

  // An obstacle to leading or writing. A leader that only cannot be idle does its work.
  const obstacle* locked_out() const;

 private:
  struct watch {
    std::optional<clock::time_point> next_look;  // while it is kept from it
    system_time since;
    int looks = 0;  // in succession that have found it
    std::optional<obstacle> told;
  };

  watch& of(flow::keeps_from what) { return watches_[static_cast<std::size_t>(what)]; }
  const watch& of(flow::keeps_from what) const { return watches_[static_cast<std::size_t>(what)]; }
  using words = std::optional<std::string>;
  boost::asio::awaitable<result<words>> find(pg::connection& link, flow::keeps_from what, int shard,
                                             bool rows_stay);
  // Of a lock holder that keeps relays from this; the shard, or 0.
  boost::asio::awaitable<result<std::optional<int>>> find_holder(pg::connection& link, std::string_view what);

  const pg::schema_name& schema_;
  std::chrono::milliseconds claim_timeout_;
  std::array<watch, 4> watches_;
  int loudest_ = 0;
};

}  // namespace outboxd::relay
