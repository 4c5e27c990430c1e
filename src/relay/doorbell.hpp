// doorbell: listens for notifications and sweeps: one session that says when there may be work.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <functional>

#include "pg/connection.hpp"
#include "relay/link_observer.hpp"
#include "relay/postgres_outbox.hpp"
#include "relay/reconnect_pause.hpp"

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

  void stop();

 private:
  boost::asio::awaitable<result<void>> open(pg::connection& link);
  boost::asio::awaitable<error> serve(pg::connection& link);

  struct sweep_result {
    std::chrono::milliseconds next{0};  // how long to wait for the next sweep
    bool queues = false;                // there are events that stand behind another
  };

  // Rings if there is work.
  boost::asio::awaitable<result<sweep_result>> sweep(pg::connection& link);

  // Frees events that nobody else would; returns how long to wait for the next search.
  boost::asio::awaitable<result<std::chrono::milliseconds>> release_orphans(pg::connection& link);

  boost::asio::any_io_executor executor_;
  const postgres_settings& settings_;
  std::chrono::milliseconds interval_;
  link_observer& observer_;
  std::function<void()> ring_;
  reconnect_pause pause_;
  boost::asio::steady_timer timer_;
  pg::connection* current_ = nullptr;
  bool listening_ = false;
  bool stopping_ = false;
};

}  // namespace outboxd::relay
