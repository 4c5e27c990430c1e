// progress: reports the progress of a long command on standard error.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace outboxd::app {

// On a terminal, one line that is overwritten. Elsewhere, a new line every five seconds.
class progress {
 public:
  // `command`: its name, such as "replay". `quiet` prints nothing.
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
  bool line_open_ = false;  // a line on the terminal must be cleared
  std::chrono::steady_clock::time_point next_;
};

}  // namespace outboxd::app
