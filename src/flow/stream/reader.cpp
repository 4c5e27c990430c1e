#include "flow/stream/reader.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace outboxd::flow {
namespace {

using namespace std::chrono_literals;

constexpr auto shortest_pause = 20ms;
constexpr auto longest_pause = 1'000ms;
// An event may be due in the year 294276, but steady_clock, which counts nanoseconds, ends after 292 years.
constexpr std::chrono::milliseconds longest_wait = 1h;

std::int64_t plus(std::int64_t seq, std::int64_t span) {
  constexpr auto last = std::numeric_limits<std::int64_t>::max();
  return seq > last - span ? last : seq + span;
}

}  // namespace

void reader::start(position from, clock::time_point now) {
  *this = reader(limits_);
  at_ = std::move(from);
  wanted_ = true;
  walks_ = true;  // the saved position may be old
  due_at_ = now;
}

void reader::due_within(std::chrono::milliseconds delay, clock::time_point now) {
  due_at_ = std::min(due_at_, now + std::clamp(delay, std::chrono::milliseconds(0), longest_wait));
}

void reader::forget(std::int64_t seq) {
  at_.seq = std::min(at_.seq, seq - 1);
  if (resume_at_) resume_at_->seq = std::min(resume_at_->seq, seq - 1);
}

void reader::read_again(std::int64_t seq) {
  if (!resume_at_ && read_to_ == at_.seq && seq <= at_.seq) resume_at_ = at_;
  at_.seq = std::min(at_.seq, seq - 1);
  read_to_ = std::min(read_to_, at_.seq);
  wanted_ = walks_ = true;
}

// Returns to a position with an older snapshot, so that rows that have become visible since are found again.
bool reader::resume() {
  auto back = std::exchange(resume_at_, std::nullopt);
  if (!back || back->seq <= at_.seq) return false;
  at_ = std::move(*back);
  read_to_ = at_.seq;
  walks_ = false;
  wanted_ = true;
  return true;
}

void reader::add_to(store_request& to, room in, clock::time_point now) {
  if (in.fresh <= 0) searching_since_.reset();
  if (now < not_before_) return;
  if (wanted_ && in.fresh > 0 && walks_) {
    to.add(walk_request{at_.seq});
  } else if (wanted_ && in.fresh > 0) {
    to.add(read_request{.from = at_,
                        .seq_limit = plus(at_.seq, limits_.seq_span),
                        .events = std::min(in.fresh, limits_.batch),
                        .with_summary = std::exchange(summary_wanted_, false)});
    wanted_ = false;  // this read may miss rows that are announced by a later ring
  }
  if (now >= due_at_ && in.due > 0) {
    to.add(due_request{due_after_, std::min(in.due, limits_.batch)});
    due_at_ = clock::time_point::max();
  }
}

clock::time_point reader::next(room in) const {
  constexpr auto never = clock::time_point::max();
  const auto to_read = wanted_ && in.fresh > 0 ? clock::time_point::min() : never;
  const auto to_due = in.due > 0 ? due_at_ : never;
  return std::max(not_before_, std::min(to_read, to_due));
}

reader::outcome reader::pause(clock::time_point now) {
  pause_ = std::clamp(pause_ * 2, std::chrono::milliseconds(shortest_pause),
                      std::chrono::milliseconds(longest_pause));
  not_before_ = now + pause_;
  wanted_ = true;
  return outcome::failed;
}

// An answer contained no event, and there are more rows to search.
reader::outcome reader::search_on(clock::time_point now) {
  if (!searching_since_) searching_since_ = now;
  return outcome::incomplete;
}

std::optional<reader::search> reader::searching() const {
  if (!searching_since_) return std::nullopt;
  return search{*searching_since_, at_.seq, at_.seen.xmax, std::max(latest_, at_.seen.xmax)};
}

reader::outcome reader::on_read(const read_request& asked, const tried<read_answer>& got,
                                clock::time_point now) {
  if (got.result != read_result::done) return pause(now);
  pause_ = 0ms;
  const read_answer& it = got.answer;
  latest_ = it.xmax;
  saw_all_ = it.saw_all;
  if (asked.with_summary && it.next_due) due_within(*it.next_due, now);
  if (it.late > asked.events && it.late_low) {
    at_.go_back(*it.late_low, it.now);
    resume_at_.reset();
    read_to_ = std::min(read_to_, at_.seq);
    wanted_ = walks_ = true;
    return search_on(now);
  }
  if (!it.saw_all) {
    at_.advance(at_.seq, it.now);
    wanted_ = true;
    if (!it.rows.empty()) searching_since_.reset();
    return search_on(now);
  }
  const std::int64_t last = it.rows.empty() ? position::before_all : it.rows.back().what.seq;
  const bool above = last > at_.seq;
  const bool full = static_cast<int>(it.rows.size()) >= asked.events;
  const bool beyond = it.top && *it.top > asked.seq_limit;
  std::int64_t to = at_.seq;
  if (full && above) to = last;
  if (!full && it.top) to = std::min(*it.top, asked.seq_limit);
  at_.advance(to, it.now);
  read_to_ = at_.seq;
  has_read_ = true;
  walks_ = beyond && !above;
  const bool resumed = !full && resume();
  if (!resumed && !full && !beyond) {
    searching_since_.reset();
    return outcome::complete;
  }
  wanted_ = true;
  if (it.rows.empty()) return search_on(now);
  searching_since_.reset();
  return outcome::incomplete;
}

// Keeps the snapshot, so that the next read finds rows that have become visible since.
void reader::on_walked(const tried<walk_answer>& got, clock::time_point now) {
  if (got.result != read_result::done) {
    pause(now);
    return;
  }
  pause_ = 0ms;
  walks_ = got.answer.more && !got.answer.met;
  at_.seq = std::max(at_.seq, got.answer.walked_to);
  if (walks_) resume();
  search_on(now);
}

void reader::on_due(const due_request& asked, const tried<due_answer>& got, clock::time_point now) {
  if (got.result != read_result::done) {
    due_at_ = now + longest_pause;
    return;
  }
  const bool full = static_cast<int>(got.answer.rows.size()) >= asked.events;
  due_after_ = full ? got.answer.last : due_cursor{};
  due_within(full ? 0ms : got.answer.next.value_or(longest_wait), now);
}

}  // namespace outboxd::flow
