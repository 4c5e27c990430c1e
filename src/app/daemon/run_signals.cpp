#include "app/daemon/run_signals.hpp"

#include <unistd.h>

#include <csignal>
#include <utility>

namespace outboxd::app {
namespace {

bool is_ignored(int signal) {
  struct sigaction now {};
  return ::sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

}  // namespace

run_signals::run_signals(boost::asio::io_context& io, signal_actions actions)
    : set_(io, SIGTERM, SIGINT), actions_(std::move(actions)) {
  if (!is_ignored(SIGHUP)) set_.add(SIGHUP);
  wait();
}

// Waits for the next signal before handling this one, so that a stop that ends at once cancels the new wait.
void run_signals::wait() {
  set_.async_wait([this](const boost::system::error_code& cancelled, int number) {
    if (cancelled) return;
    wait();
    take(number);
  });
}

void run_signals::take(int number) {
  if (number == SIGHUP) {
    if (!stopping_) actions_.reload();
    return;
  }
  if (std::exchange(stopping_, true)) ::_exit(128 + number);
  actions_.stop();
}

}  // namespace outboxd::app
