// doorbell: listens for notifications and sweeps: one session that says when there may be work.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <functional>

#include "pg/connection.hpp"
#include "relay/database_session.hpp"
#include "relay/link_observer.hpp"
#include "relay/listener.hpp"
#include "relay/reconnect_pause.hpp"
#include "relay/sweeper.hpp"

namespace outboxd::relay {

class doorbell {
 public:
  // ring: called when there may be work.
  doorbell(const boost::asio::any_io_executor& on, const postgres_settings& settings,
           std::chrono::milliseconds sweep_interval, link_observer& observer, std::function<void()> ring);

  // LISTEN, then a full sweep, then a ring for every notification and a sweep at every interval; again after
  // each reconnect, until stop().
  boost::asio::awaitable<void> run();

  // While there is no session, rings at every interval all the same: the table is the truth.
  boost::asio::awaitable<void> run_without_session();

  // Notifications are proven to arrive.
  bool hears() const { return listener_.hears(); }

  void stop();

 private:
  boost::asio::awaitable<result<void>> open(pg::connection& link);
  boost::asio::awaitable<error> serve(pg::connection& link);

  boost::asio::any_io_executor executor_;
  const postgres_settings& settings_;
  std::chrono::milliseconds interval_;
  link_observer& observer_;
  std::function<void()> ring_;
  listener listener_;
  sweeper sweeper_;
  reconnect_pause pause_;
  boost::asio::steady_timer timer_;
  pg::connection* current_ = nullptr;
  session_kind kind_ = session_kind::own;  // of the session
  bool moved_ = false;                     // a session was found to be another one than before: for good
  bool serving_ = false;
  bool stopping_ = false;
};

}  // namespace outboxd::relay
