// store_session: runs a stream's requests as statements on one PostgreSQL session, and returns the answers.
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

// Which shard, of how many, and how large an event in a read may be.
struct shard_view {
  int shard = 0;
  int shards = 1;
  bool rings = true;                           // writers do, for this shard
  bool afresh = false;                         // the saved position cannot be used: everything is read
  std::int64_t largest = 0;                    // bytes of one event's texts
  std::int64_t together = 0;                   // limit for events fetched together, except the first
  std::chrono::milliseconds patience{10'000};  // with one statement, at most
  timestamp server_time;                       // when it was loaded
};

// The statements of relay_statements are prepared on the session.
class store_session {
 public:
  store_session(pg::connection& link, std::chrono::milliseconds timeout) : link_(link), timeout_(timeout) {}

  // Loads where the last leader stopped. Call it while the lead is held. Sets the number of shards, and
  // whether writers ring.
  boost::asio::awaitable<result<flow::saved_position>> load(shard_view& of);

  // One round trip, each part in a transaction of its own. After an error, the session is unusable.
  boost::asio::awaitable<result<flow::store_answer>> execute(const flow::store_request& what,
                                                             const shard_view& of);

 private:
  pg::connection& link_;
  std::chrono::milliseconds timeout_;
};

}  // namespace outboxd::store
