// event_stage: the stages of an event in memory, from read to settled.
#pragma once

#include <memory>
#include <utility>
#include <variant>

#include "flow/stream/store.hpp"

namespace outboxd::flow {

// When an event leaves its chain, its successor can be sent.
namespace stage {

// In its chain and on no lane, because a predecessor is not settled, or no lane is up.
struct queued {};
// In its chain and on no lane: a fetch of its texts, or a check of its row, is under way.
struct fetching {
  bool waits_then = false;  // park the event afterwards, because an earlier event backs off
};
// In its chain and on a lane: queued there or in flight.
struct offered {};
// In its chain: recorded as dead after its dead letter, which is queued or offered, was confirmed or has
// failed.
struct letter {
  std::unique_ptr<failure_record> how;
  int form = 1;  // the letter's form: a simpler one may be encodable
  bool offered = false;
};
// In its chain, to be recorded as dead; its successor waits for that record.
struct dying {
  std::unique_ptr<failure_record> how;
};
// Out of its chain: acknowledged, to be marked.
struct confirmed {};
// Out of its chain: to be recorded as backing off, parked or scheduled.
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
