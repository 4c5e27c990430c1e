// mute_lock: the session with the lock that has the writers keep silent while this relay is awake.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <functional>

#include "pg/connection.hpp"
#include "relay/database_session.hpp"
#include "relay/link_observer.hpp"
#include "relay/reconnect_pause.hpp"

namespace outboxd::relay {

enum class mute_news {
  up,  // it may be asked
  down,
  granted,
  refused,  // another relay has it
  timed_out,
};

// Its transaction is open while it has the lock, but holds no snapshot, and is ended by the server if this process hangs.
class mute_lock {
 public:
  // tell: may call ask().
  mute_lock(const boost::asio::any_io_executor& on, const postgres_settings& settings,
            link_observer& observer, std::function<void(mute_news)> tell);

  // Connects, serves, reconnects, until stop().
  boost::asio::awaitable<void> run();

  // Answered by granted, refused, timed_out or down.
  void ask();
  // After granted; ask() may follow at once.
  void release();

  void stop();

 private:
  boost::asio::awaitable<result<void>> open(pg::connection& link);
  boost::asio::awaitable<error> serve(pg::connection& link);
  boost::asio::awaitable<result<mute_news>> acquire(pg::connection& link);
  boost::asio::awaitable<result<void>> hold(pg::connection& link);

  boost::asio::any_io_executor executor_;
  const postgres_settings& settings_;
  link_observer& observer_;
  std::function<void(mute_news)> tell_;
  reconnect_pause pause_;
  pg::connection* current_ = nullptr;
  bool asked_ = false;
  bool release_ = false;
  bool serving_ = false;
  bool stopping_ = false;
};

}  // namespace outboxd::relay
