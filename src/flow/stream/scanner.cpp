#include "flow/stream/scanner.hpp"

#include <algorithm>
#include <utility>

namespace outboxd::flow {
namespace {

using namespace std::chrono_literals;

constexpr auto never = clock::time_point::max();

// The interval between two reads of the pauses, and between two scans of dead events. Commands notify the
// leader, but manual changes of the tables do not.
constexpr auto scan_interval = 10s;

// The pause after a failed read of the pauses.
constexpr auto pauses_retry = 1s;

// The pauses between two pages of events that wait for destinations, in the first walk and in later ones, and
// the pause between two walks.
constexpr auto waits_pause = 20ms;
constexpr auto waits_pause_later = 1s;
constexpr auto waits_again = 10s;

// The pause after a failed look-up.
constexpr auto page_pause = 20ms;

}  // namespace

void scanner::start(std::vector<std::int64_t> left, clock::time_point now) {
  not_before_ = {};
  left_ = std::move(left);
  held_ = {.after = first_of_all};
  dead_ = {};
  if (dead_hold_) begin_scan_of_dead(now);
  waits_ = waits(waits_.give_up_after);
  pauses_ = {};
  resume_ = {.wanted = true, .after = {}};  // for pauses that ended while no relay led
  missed_rows_.start();
  check_from_.reset();
}

void scanner::start_again(clock::time_point now) {
  start(std::exchange(left_, {}), now);
}

void scanner::ring_dead(clock::time_point now) {
  if (dead_hold_) dead_.begins_at = now;
}

void scanner::begin_scan_of_dead(clock::time_point now) {
  barriers_.dead.begin_scan();
  dead_ = {.after = position::before_all, .begins_at = now + scan_interval};
}

void scanner::sweep(std::int64_t watermark, clock::time_point now) {
  check_from_ = missed_rows_.next(watermark);
  if (now - pauses_.known_at >= scan_interval) ring_pauses();
}

bool scanner::knows_barriers(clock::time_point now) const {
  return !held_.after && !dead_.after && pauses_.at > now;
}

void scanner::add_barriers(store_request& to, clock::time_point now) {
  if (!dead_.after && now >= dead_.begins_at) begin_scan_of_dead(now);
  if (dead_.after) to.add(dead_request{*dead_.after});
  if (held_.after) to.add(held_request{*held_.after});
  if (now < pauses_.at) return;
  to.add(pauses_request{});
  pauses_.at = never;
}

void scanner::add_to_load(store_request& to, clock::time_point now) {
  if (now < not_before_) return;
  add_barriers(to, now);
  if (!to.asks_one_of<pauses_request>() && knows_barriers(now) && has_left()) to.add(left_request{left_});
}

void scanner::add_to(store_request& to, int room, clock::time_point now) {
  if (check_from_ && to.asks_one_of<read_request>())
    to.add(check_request{*std::exchange(check_from_, std::nullopt)});
  if (now < not_before_) return;
  add_barriers(to, now);
  if (now >= waits_.next)
    to.add(failing_destinations_request{waits_.after, waits_.give_up_after, waits_.only_reads});
  if (room <= 0) return;
  if (const auto after = resume_.take(position::before_all))
    to.add(resume_request{.after = *after, .events = room, .paused = barriers_.paused.in_force()});
}

clock::time_point scanner::next(int room) const {
  constexpr auto at_once = clock::time_point::min();
  const auto to_page = held_.after ? not_before_ : never;
  const auto to_dead = dead_.after ? at_once : dead_.begins_at;
  const auto to_resume = resume_.pending() && room > 0 ? at_once : never;
  return std::max(not_before_, std::min({to_page, waits_.next, to_resume, to_dead, pauses_.at}));
}

template <class Answer>
bool scanner::is_answer(const tried<Answer>& got, clock::time_point now) {
  if (got.result == read_result::done) return true;
  not_before_ = now + page_pause;
  return false;
}

bool scanner::on_left(const tried<std::vector<stored_event>>& got, clock::time_point now) {
  if (!is_answer(got, now)) return false;
  left_.clear();
  return true;
}

void scanner::give_up_after(std::optional<std::chrono::milliseconds> to) {
  if (std::exchange(waits_.give_up_after, to) == to) return;
  waits_ = waits(to);
}

// The walk goes page by page, with pauses in which other events are read. The next walk retries events that
// could not be changed because of a lock or an error.
bool scanner::on_waits(const tried<waits_answer>& got, clock::time_point now) {
  if (got.result != read_result::done) {
    const bool again_at_once = got.result == read_result::refused && !waits_.only_reads;
    waits_.only_reads = waits_.only_reads || again_at_once;
    waits_.next = now + (again_at_once ? clock::duration(waits_pause) : clock::duration(waits_again));
    return false;
  }
  const bool at_end = !got.answer.upto;
  waits_.after = got.answer.upto.value_or(waits_cursor{});
  waits_.only_reads = false;
  waits_.knows_all = waits_.knows_all || at_end;
  waits_.next = now + (at_end             ? clock::duration(waits_again)
                       : waits_.knows_all ? clock::duration(waits_pause_later)
                                          : clock::duration(waits_pause));
  return true;
}

bool scanner::on_pauses(const tried<pauses_answer>& got, bool running, clock::time_point now) {
  if (!is_answer(got, now)) {
    pauses_.at = running ? now + pauses_retry : clock::time_point::min();
    return false;
  }
  if (got.answer.next_end) pauses_.at = std::min(pauses_.at, now + *got.answer.next_end);
  pauses_.known_at = now;
  return true;
}

bool scanner::on_resumed(const tried<resumed_answer>& got, clock::time_point now) {
  if (!is_answer(got, now)) return false;
  resume_.after = got.answer.upto;
  return true;
}

void scanner::on_held(const tried<held_answer>& got, aggregate after, bool running, clock::time_point now) {
  if (!is_answer(got, now)) return;
  barriers_.held.on_page(got.answer.rows, after,
                         got.answer.upto.value_or(std::numeric_limits<aggregate>::max()));
  held_.after.reset();
  if (running)
    held_.next = got.answer.upto.value_or(first_of_all);
  else
    held_.after = got.answer.upto;
}

void scanner::on_dead_page(const tried<dead_answer>& got, clock::time_point now) {
  if (!is_answer(got, now)) return;
  barriers_.dead.on_page(got.answer.of);
  dead_.after = got.answer.upto;
  if (dead_.after) return;
  for (const aggregate of : barriers_.dead.end_scan()) barriers_.held.begin(of, hold::draining);
}

std::optional<std::int64_t> scanner::on_checked(const tried<walk_answer>& got, std::int64_t watermark) {
  if (got.result != read_result::done) return std::nullopt;
  return missed_rows_.on_walked(got.answer, watermark);
}

}  // namespace outboxd::flow
