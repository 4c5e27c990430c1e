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
  // Events before that are written, and not measured: the writers connect then.
  std::chrono::steady_clock::time_point measured_from{};
};

// insert: the statement that writes event n. Returns when the COMMIT of each event was sent, by its number
// from 0. A writer that comes late goes on at once, so a server that cannot keep up is given less.
std::vector<std::chrono::steady_clock::time_point> write_at_pace(
    const stage& where, const pace& how, const std::function<std::string(std::size_t n)>& insert);

}  // namespace outboxd::bench
