// settlement: outcomes of events on their way into the table: marks as published, and records of failures.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "flow/stream/stream_state.hpp"

namespace outboxd::flow {

// PostgreSQL refuses to write the outcome of some events.
struct refused_writes {
  std::size_t events = 0;
  clock::time_point since;
  bool all = false;  // since then it has written nothing else
  std::string reason;
};

class settlement {
 public:
  explicit settlement(stream_state& in)
      : state_(in), events_(in.events), barriers_(in.blocked), marks_(in.limits.marks), records_({}) {}

  // It leaves its chain, to be marked as published.
  void mark(slot which);
  // It leaves its chain, to be recorded as backing off, parked or scheduled.
  void record(slot which, failure_record how);
  // It stays in its chain until it is recorded as dead.
  void record_dead(slot which, failure_record how);

  // most_marks: in one statement.
  void ask(store_request& to, std::size_t most_marks);
  // The events are settled, and forgotten.
  void on_marked(const write_answer& got);
  // The recorded events; what follows from their records is for the caller.
  std::vector<slot> on_recorded(const write_answer& got);
  const failure_record& record_of(slot which) const;

  // When there is something to write.
  clock::time_point next() const;
  // Only rows that PostgreSQL refuses to write are left.
  bool idle() const { return marks_.idle() && records_.idle(); }
  std::vector<slot> refused() const;
  std::optional<refused_writes> refuses() const;
  // A lock keeps it from writing some outcomes.
  bool meets_lock() const { return marks_.meets_lock() || records_.meets_lock(); }
  // How many events wait until PostgreSQL writes their outcome.
  std::size_t put_off() const { return marks_.put_off() + records_.put_off(); }
  // Per aggregate: events parked above that seq may not go before it. Events that will back off go before
  // all.
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
  std::optional<clock::time_point> written_at_;  // the latest of marks and records
  std::string refusal_;                          // the latest reason why a row is not written
};

}  // namespace outboxd::flow
