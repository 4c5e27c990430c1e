// waiting: reads events that wait for a destination: one as a probe, or all after the destination works
// again.
#pragma once

#include <deque>

#include "flow/dispatch/destinations.hpp"
#include "flow/stream/store.hpp"

namespace outboxd::flow {

// Pure. Reading these events changes no rows: if the destination of an event fails again, the event leaves
// memory, and its row stays unchanged.
class waiting {
 public:
  explicit waiting(destinations& known) : known_(known) {}

  // The lead was acquired. `client`: the number of the stream in destinations.
  void start(int client);

  // room: the number of events for which there is memory.
  void add_to(store_request& to, int room, clock::time_point now);
  void on_answer(const waiting_events_request& asked, const tried<waiting_answer>& got,
                 clock::time_point now);
  // The time at which there will be something to read.
  clock::time_point next(int room, clock::time_point now) const;

 private:
  // A destination that works again; its events after this seq have yet to be read.
  struct wake {
    destination_id of;
    std::int64_t after;
  };

  destinations& known_;
  int client_ = 0;
  std::deque<wake> wakes_;
  clock::time_point not_before_{};  // set after a failed read
};

}  // namespace outboxd::flow
