// dispatcher_waiting: the part of dispatcher.hpp about events that leave memory and wait in the table.
#include <utility>

#include "flow/stream/dispatcher.hpp"

namespace outboxd::flow {

void dispatcher::leave_unrecorded(slot which) {
  const aggregate of = events_.aggregate_of(which);
  lanes_.destinations().on_found(*events_.at(which).it.waits_for, state_.client, state_.now());
  on_unsent(which);
  events_.leave_chain(which);
  events_.erase(which);
  barriers_.held.begin(of, hold::head_waits);
  park_others(of);
  offer_next(of);
}

void dispatcher::report_and_wait(slot which, failure_record how, bool sent) {
  state_.tell(notice::failed{events_.at(which).it.what, state_.destination_of(which), how, sent});
  record_and_hold(which, std::move(how));
}

// A pause is not a failure, and no attempt is counted.
void dispatcher::wait_for_pause_end(slot which) {
  record_and_hold(which, {.key = events_.at(which).it.what.key(),
                          .delay = std::nullopt,
                          .code = std::string(paused_code),
                          .reason = "its event type, its aggregate type or its destination is paused"});
}

void dispatcher::record_and_hold(slot which, failure_record how) {
  const aggregate of = events_.aggregate_of(which);
  leave_memory(which, std::move(how));
  barriers_.held.begin(of, hold::head_waits);
  barriers_.held.on_to_record(of);
  park_others(of);
  offer_next(of);  // a successor that became a dead letter was not parked, and is sent now
}

void dispatcher::park(slot which) {
  state_.trace(step::parked, which);
  const aggregate of = events_.aggregate_of(which);
  leave_memory(which,
               {.key = events_.at(which).it.what.key(), .to = exception::parked, .code = {}, .reason = {}});
  barriers_.held.on_to_record(of);
}

// A scheduled event is read again when it is due, and takes its place in the order then. Until then it blocks
// no other events.
void dispatcher::set_aside(slot which, std::chrono::milliseconds due_in) {
  leave_memory(which, {.key = events_.at(which).it.what.key(),
                       .to = exception::scheduled,
                       .delay = due_in,
                       .code = {},
                       .reason = {}});
}

void dispatcher::leave_memory(slot which, failure_record how) {
  drop_probe(which);
  settlement_.record(which, std::move(how));
}

// True if, in pipelined order, an unsent event has a later event on a lane, which would overtake it.
bool dispatcher::has_gap(const unsettled::chain& of) const {
  bool waits = false;
  for (slot which = of.first; which != no_slot; which = events_.at(which).after) {
    if (waits && events_.at(which).is_offered()) return true;
    waits = waits || events_.at(which).is_unsent();
  }
  return false;
}

void dispatcher::park_others(aggregate of) {
  const auto* const chain = events_.find_chain(of);
  if (chain != nullptr && chain->offered > 0 && has_gap(*chain))
    lanes_.withdraw(*this, chain->lane, [&](slot which) { return events_.aggregate_of(which) == of; });
  slot next = chain == nullptr ? no_slot : chain->first;
  while (next != no_slot) {
    const slot which = std::exchange(next, events_.at(next).after);
    auto& one = events_.at(which);
    if (auto* const fetching = std::get_if<stage::fetching>(&one.now))
      fetching->waits_then = true;
    else if (one.is<stage::queued>())
      park_behind(which);
  }
}

// An event that is already parked in the table is only removed from memory.
void dispatcher::park_behind(slot which) {
  if (events_.at(which).it.from != exception::parked) return park(which);
  events_.leave_chain(which);
  events_.erase(which);
}

}  // namespace outboxd::flow
