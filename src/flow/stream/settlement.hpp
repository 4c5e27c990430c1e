// settlement: writes the outcomes of events into the table: marks as published, and records of failures.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "flow/stream/stream_state.hpp"

namespace outboxd::flow {

// Outcomes that PostgreSQL refuses to write.
struct refused_writes {
  std::size_t events = 0;
  clock::time_point since;
  bool all = false;  // no other outcome has been written since the refusal
  std::string reason;
};

class settlement {
 public:
  explicit settlement(stream_state& in)
      : state_(in), events_(in.events), barriers_(in.blocked), marks_(in.limits.marks), records_({}) {}

  // The event leaves its chain, to be marked as published.
  void mark(slot which);
  // The event leaves its chain, to be recorded as backing off, parked or scheduled.
  void record(slot which, failure_record how);
  // The event stays in its chain until it is recorded as dead.
  void record_dead(slot which, failure_record how);

  // most_marks: maximum marks per statement.
  void ask(store_request& to, std::size_t most_marks);
  // Settles the marked events and removes them from memory.
  void on_marked(const write_answer& got);
  // Returns the recorded events; the caller handles the consequences of their records.
  std::vector<slot> on_recorded(const write_answer& got);
  const failure_record& record_of(slot which) const;

  // The time at which there will be something to write.
  clock::time_point next() const;
  // True if nothing is left to write except rows that PostgreSQL refuses.
  bool idle() const { return marks_.idle() && records_.idle(); }
  std::vector<slot> refused() const;
  std::optional<refused_writes> refuses() const;
  // True if a lock prevents some outcomes from being written.
  bool meets_lock() const { return marks_.meets_lock() || records_.meets_lock(); }
  // The number of events whose outcome PostgreSQL does not write at present.
  std::size_t put_off() const { return marks_.put_off() + records_.put_off(); }
  // For each aggregate, the lowest seq of its events that are not recorded yet: parked events above this seq
  // must not be sent before that event. Events that will back off precede all others.
  boost::unordered_flat_map<aggregate, std::int64_t> lowest_to_record() const;
  void clear();

 private:
  void ask_to_record(store_request& to);
  void ask_to_mark(store_request& to, std::size_t most);
  std::vector<slot> end(write_queue& of, const write_answer& got);
  std::vector<slot> slots_of(const std::vector<event_key>& keys) const;
  void count_published(const std::vector<slot>& done) const;

  stream_state& state_;
  unsettled& events_;
  barriers& barriers_;
  write_queue marks_;
  write_queue records_;
  std::optional<clock::time_point> written_at_;  // when a mark or record was last written
  std::string refusal_;                          // why a row was last refused
};

}  // namespace outboxd::flow
