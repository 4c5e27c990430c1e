// reconnect_pause: the pause between two attempts to connect to a server; it can be cut short.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>

#include "core/backoff.hpp"
#include "core/error.hpp"

namespace outboxd::relay {

class reconnect_pause {
 public:
  // The cap, which is low enough that delivery resumes seconds after the server is back.
  static constexpr backoff::duration longest = std::chrono::seconds(3);

  explicit reconnect_pause(const boost::asio::any_io_executor& on);

  // Waits for a random time, which grows with each call up to `longest`. After a fault that needs an
  // operator, it waits for `longest` at once.
  boost::asio::awaitable<void> wait(fault why = fault::transient);

  // The connection has proved useful: the next pause is short again.
  void reset() { backoff_.reset(); }

  // Ends the current pause, and makes all later ones return immediately.
  void stop();

 private:
  boost::asio::steady_timer timer_;
  backoff backoff_;
  bool stopped_ = false;
};

}  // namespace outboxd::relay
