// store_session: executes a stream's requests as statements in a PostgreSQL session, and returns the answers.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstdint>
#include <string>

#include "flow/stream/store.hpp"
#include "flow/stream/stream.hpp"
#include "pg/connection.hpp"
#include "store/relay_statements.hpp"

namespace outboxd::store {

// The shard, the number of shards, and the limits on the size of events.
struct shard_view {
  int shard = 0;
  int shards = 1;
  bool rings = true;                           // whether the writers of this shard notify
  bool afresh = false;                         // the saved position is not usable, so everything is read
                                               // again
  std::int64_t largest = 0;                    // maximum bytes of the texts of one event
  std::int64_t together = 0;                   // maximum bytes of events fetched together, except the first
  std::chrono::milliseconds patience{10'000};  // maximum time for one statement
  timestamp server_time;                       // when the shard was loaded
};

// Requires a session in which the statements of relay_statements are prepared.
class store_session {
 public:
  store_session(pg::connection& link, std::chrono::milliseconds timeout) : link_(link), timeout_(timeout) {}

  // Loads the position at which the last leader stopped. Call this while the lead is held. Sets the number of
  // shards, and whether writers notify.
  boost::asio::awaitable<result<flow::saved_position>> load(shard_view& of);

  // Executes one round trip; each part is a separate transaction. After an error, the session is unusable.
  boost::asio::awaitable<result<flow::store_answer>> execute(const flow::store_request& what,
                                                             const shard_view& of);

 private:
  pg::connection& link_;
  std::chrono::milliseconds timeout_;
};

}  // namespace outboxd::store
