// slow_flush: the benchmarks' own PostgreSQL restarted with flushes that take longer, until this object goes.
#pragma once

#include <chrono>
#include <string>

#include "stage/setup.hpp"

namespace outboxd::bench {

class slow_flush {
 public:
  // Throws when the server is not our own, or does not start. No session survives it.
  slow_flush(const setup& on, std::chrono::microseconds at_least);
  ~slow_flush();
  slow_flush(const slow_flush&) = delete;
  slow_flush& operator=(const slow_flush&) = delete;
};

// Milliseconds of a commit of one row by one session, most of which is the flush; the median of a few.
double commit_milliseconds(const setup& on);

}  // namespace outboxd::bench
