#include "stage/interruption.hpp"

#include <csignal>
#include <stdexcept>

namespace outboxd::bench {
namespace {

volatile std::sig_atomic_t interrupted = 0;

extern "C" void note_signal(int) {
  interrupted = 1;
}

}  // namespace

void note_signals() {
  struct sigaction noted {};
  noted.sa_handler = note_signal;
  noted.sa_flags = static_cast<int>(SA_RESETHAND | static_cast<unsigned>(SA_RESTART));
  sigaction(SIGINT, &noted, nullptr);
  sigaction(SIGTERM, &noted, nullptr);
}

void stop_if_interrupted() {
  if (interrupted != 0) throw std::runtime_error("interrupted");
}

}  // namespace outboxd::bench
