// waiting: the next reads of events that wait for a destination: one as a probe, or all when it works again.
#pragma once

#include <deque>

#include "flow/dispatch/destinations.hpp"
#include "flow/stream/store.hpp"

namespace outboxd::flow {

// Pure. Nothing is written of what is read here: an event whose destination fails again leaves the memory,
// and its row stays as it is.
class waiting {
 public:
  explicit waiting(destinations& known) : known_(known) {}

  // The lead has been taken. `client`: the number that destinations know the stream by.
  void start(int client);

  // room: for so many more events.
  void add_to(store_request& to, int room, clock::time_point now);
  void on_answer(const waiting_request& asked, const tried<waiting_answer>& got, clock::time_point now);
  // When there is something to read.
  clock::time_point next(int room, clock::time_point now) const;

 private:
  // A destination works again: its events after this seq are still to be read.
  struct wake {
    destination_id of;
    std::int64_t after;
  };

  destinations& known_;
  int client_ = 0;
  std::deque<wake> wakes_;
  clock::time_point not_before_{};  // a read has failed
};

}  // namespace outboxd::flow
