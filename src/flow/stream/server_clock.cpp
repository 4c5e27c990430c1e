#include "flow/stream/server_clock.hpp"

namespace outboxd::flow {
namespace {

// Assumes that two clocks drift apart by at most 200 parts per million, as NTP does.
constexpr auto drift = 5'000;

}  // namespace

void server_clock::on_answer(clock::time_point asked, clock::time_point answered, timestamp told) {
  const auto error = (answered - asked) / 2;
  if (best_ && error > best_->error + (answered - best_->when) / drift) return;
  best_ = {.when = asked + error, .told = told, .error = error};
}

std::optional<timestamp> server_clock::at(clock::time_point now) const {
  if (!best_) return std::nullopt;
  return best_->told + std::chrono::duration_cast<std::chrono::microseconds>(now - best_->when);
}

}  // namespace outboxd::flow
