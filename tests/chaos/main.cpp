// outboxd_chaos: faults on real servers, and the proof that nothing was lost or overtaken.
#include <fmt/format.h>
#include <pthread.h>

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <thread>

#include "options.hpp"
#include "outage.hpp"
#include "run.hpp"
#include "takeovers.hpp"

namespace {

std::atomic<bool> interrupted = false;

/// One thread waits for signals, so that no other thread is interrupted. The first signal ends the run after
/// the servers are repaired; a later one ends it at once. A shell may send the first signal twice.
void watch_signals() {
  sigset_t wanted;
  sigemptyset(&wanted);
  sigaddset(&wanted, SIGINT);
  sigaddset(&wanted, SIGTERM);
  sigaddset(&wanted, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &wanted, nullptr);
  std::thread{[wanted] {
    int number = 0;
    std::chrono::steady_clock::time_point first;
    while (sigwait(&wanted, &number) == 0) {
      const auto now = std::chrono::steady_clock::now();
      if (interrupted && now - first > std::chrono::seconds{1}) ::_exit(128 + number);
      if (interrupted.exchange(true)) continue;
      first = now;
      fmt::print(stderr, "outboxd_chaos: healing the servers; once more to end at once\n");
    }
  }}.detach();
}

}  // namespace

int main(int count, char** words) {
  const auto how = outboxd::chaos::read_options(count, words);
  if (how.print_schedule) {
    for (const auto& one : outboxd::chaos::make_schedule(how.plan())) fmt::print("{}\n", one.words());
    return 0;
  }
  if (!how.histogram.empty()) {
    fmt::print("{}\n", outboxd::chaos::histogram(outboxd::chaos::read_takeovers(how.histogram)));
    return 0;
  }
  std::signal(SIGPIPE, SIG_IGN);
  watch_signals();
  try {
    if (how.outage.count() > 0) return outboxd::chaos::run_outage(how, interrupted);
    return outboxd::chaos::run_chaos(how, interrupted);
  } catch (const std::exception& error) {
    fmt::print(stderr, "outboxd_chaos: {}\nTo see it again: {}\n", error.what(), how.command());
    return 1;
  }
}
