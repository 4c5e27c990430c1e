#include "flow/lead/deferral.hpp"

#include <utility>

namespace outboxd::flow {

bool deferral::on_put_off(clock::time_point now) {
  if (state_ == state::none) {
    state_ = state::unsaid;
    since_ = now;
  }
  if (state_ == state::said || now - since_ < worth_saying_) return false;
  state_ = state::said;
  return true;
}

bool deferral::on_done() {
  return std::exchange(state_, state::none) == state::said;
}

}  // namespace outboxd::flow
