// reconnect_pause: the wait between two attempts to reach a server, which can be cut short.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>

#include "core/backoff.hpp"
#include "core/error.hpp"

namespace outboxd::relay {

class reconnect_pause {
 public:
  // The cap: low enough that delivery resumes within seconds of the server.
  static constexpr backoff::duration longest = std::chrono::seconds(3);

  explicit reconnect_pause(const boost::asio::any_io_executor& on);

  // A random time, growing with each call up to a few seconds. A fault that needs an operator waits for that
  // longest time at once.
  boost::asio::awaitable<void> wait(fault why = fault::transient);

  // The connection has proved useful: the next wait is short again.
  void reset() { backoff_.reset(); }

  // Ends this wait and makes every later one empty.
  void stop();

 private:
  boost::asio::steady_timer timer_;
  backoff backoff_;
  bool stopped_ = false;
};

}  // namespace outboxd::relay
