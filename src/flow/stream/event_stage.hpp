// event_stage: the stages of an event from read to settled.
#pragma once

#include <memory>
#include <utility>
#include <variant>

#include "flow/stream/store.hpp"

namespace outboxd::flow {

// An event that leaves its chain lets its successor go.
namespace stage {

// In its chain, at no lane: behind a predecessor, or no lane is up.
struct queued {};
// In its chain, at no lane: its texts, or the check of whether its row has changed, are on their way.
struct fetching {
  bool waits_then = false;  // one before it backs off
};
// In its chain, at a lane: waiting there or in flight.
struct offered {};
// In its chain: recorded as dead once its dead letter, which is queued or offered, is confirmed or fails.
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
