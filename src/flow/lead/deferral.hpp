// deferral: PostgreSQL puts statements about events off, and whether that is worth a word. Pure.
#pragma once

#include <chrono>
#include <cstdint>

#include "flow/clock.hpp"

namespace outboxd::flow {

class deferral {
 public:
  // worth_saying: a lock is usually held for less.
  explicit deferral(std::chrono::milliseconds worth_saying) : worth_saying_(worth_saying) {}

  // A statement was put off. True, once: they have been for as long as is worth saying.
  bool on_put_off(clock::time_point now);
  // One was done, or nothing is left to be done. True: it was said that they are put off.
  bool on_done();

 private:
  enum class state : std::uint8_t {
    none,
    unsaid,  // since since_
    said,
  };

  std::chrono::milliseconds worth_saying_;
  state state_ = state::none;
  clock::time_point since_{};
};

}  // namespace outboxd::flow
