// run_signals: what a running relay does when it is sent a signal.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <functional>

namespace outboxd::app {

struct signal_actions {
  std::function<void()> stop;
  std::function<void()> reload;
};

// The first SIGTERM or SIGINT stops, the second one ends the process at once (as pgbouncer does). SIGHUP
// reads the settings again, also when a terminal closes: a daemon cannot tell the two apart. Under nohup,
// which starts programs with SIGHUP ignored, it stays ignored. After a stop it does nothing: systemd may send
// it right behind SIGTERM (SendSIGHUP=).
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
