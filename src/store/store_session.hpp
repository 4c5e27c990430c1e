// store_session: what a stream asks of its store, as statements on one PostgreSQL session, and their answers.
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

// Which shard, of how many, and how much of an event may come with a read.
struct shard_view {
  int shard = 0;
  int shards = 1;
  bool rings = true;                           // writers do, for this shard
  bool afresh = false;                         // the saved position is of no use: everything is read
  std::int64_t largest = 0;                    // bytes of one event's texts
  std::int64_t together = 0;                   // of all that are fetched at once, but for one
  std::chrono::milliseconds patience{10'000};  // with one statement, at most
  timestamp server_time;                       // when it was loaded
};

// The statements of relay_statements are prepared on the session.
class store_session {
 public:
  store_session(pg::connection& link, std::chrono::milliseconds timeout) : link_(link), timeout_(timeout) {}

  // Where the last leader has left off. Ask when the lead is held. Sets the number of shards, and whether
  // writers ring.
  boost::asio::awaitable<result<flow::saved_position>> load(shard_view& of);

  // One round trip, each part in a transaction of its own. An error means that the session is of no more use.
  boost::asio::awaitable<result<flow::store_answer>> execute(const flow::store_request& what,
                                                             const shard_view& of);

 private:
  pg::connection& link_;
  std::chrono::milliseconds timeout_;
};

}  // namespace outboxd::store
