// paced_writers: commits numbered events at a fixed rate, from several sessions.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "stage/stage.hpp"

namespace outboxd::bench {

struct pace {
  double events_per_second = 200;
  std::chrono::milliseconds duration{10'000};
  int writers = 8;
  // Events before this time are written but not measured, because the writers are still connecting.
  std::chrono::steady_clock::time_point measured_from{};
};

// insert: the statement that writes event n. Returns the times at which the COMMITs were sent, indexed by
// event number from 0. A late writer continues immediately, so a server that cannot keep up receives events
// at a lower rate.
std::vector<std::chrono::steady_clock::time_point> write_at_pace(
    const stage& where, const pace& how, const std::function<std::string(std::size_t n)>& insert);

}  // namespace outboxd::bench
