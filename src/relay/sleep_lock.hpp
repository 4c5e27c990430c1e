// sleep_lock: a separate session that holds a shard's advisory lock SLEEP, which makes writers notify.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <functional>

#include "flow/lead/leader_tasks.hpp"
#include "pg/connection.hpp"
#include "relay/kept_session.hpp"

namespace outboxd::relay {

using flow::sleep_news;

// Holds a session-level lock outside a transaction, so that the lock does not hold back vacuum.
class sleep_lock {
 public:
  using action = flow::doorbell::action;

  // `tell` may call want().
  sleep_lock(const boost::asio::any_io_executor& on, const postgres_settings& settings, int shard,
             link_observer& observer, std::function<void(sleep_news)> tell);

  // Connects, serves and reconnects, until stop().
  boost::asio::awaitable<void> run();

  // A new action replaces one that has not begun. A probe replaces nothing.
  void want(action what);

  void stop();

  // The server process of the session; 0 if there is none.
  int process() const { return process_; }

 private:
  boost::asio::awaitable<result<void>> serve(pg::connection& link);
  boost::asio::awaitable<result<void>> carry_out(pg::connection& link, action what);
  boost::asio::awaitable<result<void>> lock(pg::connection& link);
  boost::asio::awaitable<result<bool>> ask_server(pg::connection& link, std::string sql);

  const postgres_settings& settings_;
  const int shard_;
  std::function<void(sleep_news)> tell_;
  kept_session session_;
  int process_ = 0;
  action wanted_ = action::none;
  bool held_ = false;
};

}  // namespace outboxd::relay
