// event_stage: where an event is on its way from read to settled.
#pragma once

#include <memory>
#include <utility>
#include <variant>

#include "flow/stream/store.hpp"

namespace outboxd::flow {

// What leaves its chain lets its successor go.
namespace stage {

// In its chain, at no lane: behind a predecessor, or no lane is up.
struct queued {};
// In its chain, at no lane: its texts are on their way, or word on whether its row has changed.
struct fetching {
  bool waits_then = false;  // one before it backs off
};
// In its chain, at a lane: waiting there or in flight.
struct offered {};
// In its chain, and to be recorded as dead when its dead letter is through, which is queued or offered.
struct letter {
  std::unique_ptr<failure_record> how;
  int form = 1;  // of the letter: simpler ones may be encodable
  bool offered = false;
};
// In its chain: to be recorded as dead; its successor waits for that.
struct dying {
  std::unique_ptr<failure_record> how;
};
// Out of the chain: acknowledged, to be marked.
struct confirmed {};
// Out of the chain: to be recorded as backing off, parked or scheduled.
struct leaving {
  std::unique_ptr<failure_record> how;
};

}  // namespace stage

using event_stage = std::variant<stage::queued, stage::fetching, stage::offered, stage::letter, stage::dying,
                                 stage::confirmed, stage::leaving>;

inline std::unique_ptr<failure_record> kept(failure_record how) {
  return std::make_unique<failure_record>(std::move(how));
}

}  // namespace outboxd::flow
