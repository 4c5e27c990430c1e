// slow_flush: restarts the benchmarks' own PostgreSQL with slower flushes until this object is destroyed.
#pragma once

#include <chrono>
#include <string>

#include "stage/setup.hpp"

namespace outboxd::bench {

class slow_flush {
 public:
  // Throws if the server is not our own or does not start. All sessions are lost.
  slow_flush(const setup& on, std::chrono::microseconds at_least);
  ~slow_flush();
  slow_flush(const slow_flush&) = delete;
  slow_flush& operator=(const slow_flush&) = delete;
};

// The median duration in milliseconds of a few single-row commits by one session, which is mostly the flush.
double commit_milliseconds(const setup& on);

}  // namespace outboxd::bench
