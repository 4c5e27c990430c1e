// run_signals: the signal handling of a running relay.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <functional>

namespace outboxd::app {

struct signal_actions {
  std::function<void()> stop;
  std::function<void()> reload;
};

// The first SIGTERM or SIGINT stops the relay; the second one ends the process at once, as in pgbouncer.
// SIGHUP reloads the settings, even if a closed terminal sent it, because a daemon cannot tell the
// difference. SIGHUP stays ignored under nohup. After a stop it has no effect: systemd may send it right
// after SIGTERM (SendSIGHUP=).
class run_signals {
 public:
  run_signals(boost::asio::io_context& io, signal_actions actions);
  void cancel() { set_.cancel(); }

 private:
  void wait();
  void take(int number);

  boost::asio::signal_set set_;
  signal_actions actions_;
  bool stopping_ = false;
};

}  // namespace outboxd::app
