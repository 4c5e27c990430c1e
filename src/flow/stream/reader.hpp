// reader: decides what a stream reads next, and when: new rows, walks over finished rows, due events.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>

#include "flow/clock.hpp"
#include "flow/limits.hpp"
#include "flow/stream/store.hpp"

namespace outboxd::flow {

// Pure. Adds the reads to a request, and interprets their answers.
class reader {
 public:
  explicit reader(const read_limits& limits) : limits_(limits) {}

  // The lead has just been acquired: only the saved position is known.
  void start(position from, clock::time_point now);

  // want_summary: the next read also returns due and waiting events. ring: there may be new events; ring_due:
  // events may be due.
  void want_summary() { summary_wanted_ = true; }
  void ring() { wanted_ = true; }
  void ring_due(clock::time_point now) { due_at_ = now; }
  void due_within(std::chrono::milliseconds delay, clock::time_point now);  // at most an hour

  // The number of events for which there is memory.
  struct room {
    int fresh = 0;
    int due = 0;
  };
  // Adds the reads that are due now.
  void add_to(store_request& to, room in, clock::time_point now);
  // The time of the next read.
  clock::time_point next(room in) const;

  enum class outcome {
    failed,      // retry after a pause
    incomplete,  // there are more rows: read again at once
    complete,    // all visible rows have been read
  };
  // Updates the position. The rows of the answer are valid unless the position went back.
  outcome on_read(const read_request& asked, const tried<read_answer>& got, clock::time_point now);
  void on_walked(const tried<walk_answer>& got, clock::time_point now);
  void on_due(const due_request& asked, const tried<due_answer>& got, clock::time_point now);

  // A search through rows that has not found an event to send yet.
  struct search {
    clock::time_point since;
    std::int64_t seq = position::before_all;  // no pending row up to here
    xid seen = 0;                             // transactions up to this one have been searched
    xid up_to = 0;                            // the latest transaction of the server
  };
  // nullopt: the last read found an event or reached the end of the table, or nothing is read.
  std::optional<search> searching() const;

  const position& at() const { return at_; }
  // The highest seq to resume from, including after a rescan of earlier rows.
  std::int64_t passed() const { return resume_at_ ? std::max(at_.seq, resume_at_->seq) : at_.seq; }
  // All visible rows up to here were read since the lead was acquired; a walk by itself does not find rows
  // that committed late.
  std::int64_t read_to() const { return read_to_; }
  // True if every row that was visible before transaction `author` assigned `seq` has been read; `seq` must
  // not be above passed(). Below the point at which a walk started, rows that committed late may not have
  // been read.
  bool knows_what_is_before(std::int64_t seq, xid author) const {
    return resume_at_ || seq <= read_to_ || (saw_all_ && at_.seen.sees(author));
  }
  // True if all visible rows have been read once since start(), even if there were none.
  bool has_read() const { return has_read_; }
  // An event with this seq was removed from memory; the next leader reads it again.
  void forget(std::int64_t seq);
  // Like forget(), but the event is read again at once. Afterwards the position returns to where it was,
  // because there may be many finished rows in between.
  void read_again(std::int64_t seq);

 private:
  outcome pause(clock::time_point now);
  outcome search_on(clock::time_point now);
  bool resume();

  read_limits limits_;
  position at_;
  std::optional<position> resume_at_;  // set while earlier rows are read again
  std::int64_t read_to_ = position::before_all;
  bool has_read_ = false;
  bool saw_all_ = false;  // at_.seen is a whole snapshot: all slices of (c) were read
  bool wanted_ = false;
  bool summary_wanted_ = false;  // in the next read
  bool walks_ = false;           // the next pending row may be far away
  clock::time_point not_before_{};
  std::chrono::milliseconds pause_{0};
  clock::time_point due_at_ = clock::time_point::max();
  due_cursor due_after_;
  std::optional<clock::time_point> searching_since_;
  xid latest_ = 0;  // the latest transaction of the server
};

}  // namespace outboxd::flow
