// sleep_lock: the session of its own with the advisory lock SLEEP of a shard, which has writers ring.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <functional>

#include "flow/lead/leader_tasks.hpp"
#include "pg/connection.hpp"
#include "relay/database_session.hpp"
#include "relay/link_observer.hpp"
#include "relay/reconnect_pause.hpp"

namespace outboxd::relay {

using flow::sleep_news;

// A session lock, held without a transaction: it holds back no vacuum.
class sleep_lock {
 public:
  // tell: may call ask(), unlock() and probe().
  sleep_lock(const boost::asio::any_io_executor& on, const postgres_settings& settings, int shard,
             link_observer& observer, std::function<void(sleep_news)> tell);

  // Connects, serves, reconnects, until stop().
  boost::asio::awaitable<void> run();

  // Answered by granted, refused or down.
  void ask() { want(errand::lock); }
  void unlock() { want(errand::unlock); }
  // Answered by contended, or not.
  void probe();

  void stop();

  // At the server; 0 while there is no session.
  int process() const { return process_; }

 private:
  // What its session is to do next.
  enum class errand {
    none,
    lock,    // wait for SLEEP
    unlock,  // give it back
    probe,   // see whether a commit waits for another one's notification
  };

  void want(errand what);
  boost::asio::awaitable<result<void>> open(pg::connection& link);
  boost::asio::awaitable<error> serve(pg::connection& link);
  boost::asio::awaitable<result<void>> lock(pg::connection& link);
  boost::asio::awaitable<result<bool>> ask_server(pg::connection& link, std::string sql);

  boost::asio::any_io_executor executor_;
  const postgres_settings& settings_;
  const int shard_;
  link_observer& observer_;
  std::function<void(sleep_news)> tell_;
  reconnect_pause pause_;
  pg::connection* current_ = nullptr;
  int process_ = 0;
  errand wanted_ = errand::none;
  bool held_ = false;
  bool stopping_ = false;
};

}  // namespace outboxd::relay
