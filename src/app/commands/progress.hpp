// progress: a line on standard error now and then, for those who wait for a long command.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace outboxd::app {

// On a terminal one line that is written over and over; elsewhere a line each five seconds.
class progress {
 public:
  // `command`: "replay". Quiet shows nothing.
  progress(std::string command, std::int64_t all, bool quiet);
  ~progress();
  progress(const progress&) = delete;
  progress& operator=(const progress&) = delete;

  void show(std::int64_t done);

 private:
  enum class place { nowhere, terminal, lines };

  std::string command_;
  std::int64_t all_;
  place where_;
  bool line_open_ = false;  // what is written on the terminal has to go
  std::chrono::steady_clock::time_point next_;
};

}  // namespace outboxd::app
