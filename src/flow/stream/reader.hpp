// reader: what a stream reads next, and when: new rows, walks over finished rows, due events.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>

#include "flow/clock.hpp"
#include "flow/limits.hpp"
#include "flow/stream/store.hpp"

namespace outboxd::flow {

// Pure. The parts of a request that read, and what their answers mean.
class reader {
 public:
  explicit reader(const read_limits& limits) : limits_(limits) {}

  // The lead has just been taken: nothing is known but the saved position.
  void start(position from, clock::time_point now);

  // There may be something new; something may be due.
  // The next read tells what is due and what waits.
  void want_summary() { summary_wanted_ = true; }
  void ring() { wanted_ = true; }
  void ring_due(clock::time_point now) { due_at_ = now; }
  void due_within(std::chrono::milliseconds delay, clock::time_point now);  // an hour at most

  // There is memory for this many events.
  struct room {
    int fresh = 0;
    int due = 0;
  };
  // Adds what is to be read now.
  void add_to(store_request& to, room in, clock::time_point now);
  // When there may be something to add.
  clock::time_point next(room in) const;

  enum class outcome {
    failed,      // again after a pause
    incomplete,  // there is more: again at once
    complete,    // everything that was visible has been read
  };
  // Moves the position. Use the rows unless the position went back; then there are none.
  outcome on_read(const read_request& asked, const tried<read_answer>& got, clock::time_point now);
  void on_walked(const tried<walk_answer>& got, clock::time_point now);
  void on_due(const due_request& asked, const tried<due_answer>& got, clock::time_point now);

  // It searches rows without finding an event that may be sent.
  struct search {
    clock::time_point since;
    std::int64_t seq = position::before_all;  // nothing is pending up to here
    xid seen = 0;                             // transactions up to this one have been looked through
    xid up_to = 0;                            // of those that there are
  };
  // nullopt: it has found an event, or the end of the table, or it does not read.
  std::optional<search> searching() const;

  const position& at() const { return at_; }
  // The highest seq from which it continues, now or after reading earlier rows again.
  std::int64_t passed() const { return resume_at_ ? std::max(at_.seq, resume_at_->seq) : at_.seq; }
  // All visible rows up to here have been read since the lead was taken; a walk alone does not find rows that
  // committed late.
  std::int64_t read_to() const { return read_to_; }
  // Whether every row that was committed before transaction `author` took this seq, which is at most
  // passed(), has been read. A walk starts where reading ended, and does not find rows below that committed
  // late.
  bool knows_what_is_before(std::int64_t seq, xid author) const {
    return resume_at_ || seq <= read_to_ || (saw_all_ && at_.seen.sees(author));
  }
  // Since then, all visible rows have been read once, even if there were none.
  bool has_read() const { return has_read_; }
  // An event with this seq is forgotten; the next leader reads it again.
  void forget(std::int64_t seq);
  // The same, but it is read again at once. Then the position returns to where it was, because many finished
  // rows may lie in between.
  void read_again(std::int64_t seq);

 private:
  outcome pause(clock::time_point now);
  outcome search_on(clock::time_point now);
  bool resume();

  read_limits limits_;
  position at_;
  std::optional<position> resume_at_;  // while something below is read again
  std::int64_t read_to_ = position::before_all;
  bool has_read_ = false;
  bool saw_all_ = false;  // at_.seen is a whole snapshot: no slice of (c) is left
  bool wanted_ = false;
  bool summary_wanted_ = false;  // with the next read
  bool walks_ = false;           // the next pending row may be far away
  clock::time_point not_before_{};
  std::chrono::milliseconds pause_{0};
  clock::time_point due_at_ = clock::time_point::max();
  due_cursor due_after_;
  std::optional<clock::time_point> searching_since_;
  xid latest_ = 0;  // transactions that there are
};

}  // namespace outboxd::flow
