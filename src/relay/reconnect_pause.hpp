// reconnect_pause: the pause between two attempts to connect to a server; a call can end the pause early.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>

#include "core/backoff.hpp"
#include "core/error.hpp"

namespace outboxd::relay {

class reconnect_pause {
 public:
  // The maximum pause, short enough that delivery resumes within seconds of the server's return.
  static constexpr backoff::duration longest = std::chrono::seconds(3);

  explicit reconnect_pause(const boost::asio::any_io_executor& on);

  // Waits for a random time, which grows with each call up to `longest`. After a fault that only an operator
  // can fix, it immediately uses the maximum.
  boost::asio::awaitable<void> wait(fault why = fault::transient);

  // Called when the connection has been useful: the next pause is short again.
  void reset() { backoff_.reset(); }

  // Ends the current pause, and makes all later ones return immediately.
  void stop();

 private:
  boost::asio::steady_timer timer_;
  backoff backoff_;
  bool stopped_ = false;
};

}  // namespace outboxd::relay
