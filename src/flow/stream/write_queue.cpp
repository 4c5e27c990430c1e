#include "flow/stream/write_queue.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace outboxd::flow {
namespace {

using namespace std::chrono_literals;

// Most locks are short.
constexpr auto locked_at_first = 20ms;
constexpr auto locked_at_most = 900ms;

// A refused row stays refused until an operator fixes the cause.
constexpr auto refused_at_first = 1'000ms;
constexpr auto refused_at_most = 60'000ms;

// If nothing at all was written for this long, the rows were not at fault: a privilege was missing, or the
// server accepted no transactions. Refused rows are retried at once after the next success.
constexpr auto quiet_for = 5'000ms;

}  // namespace

void write_queue::add(slot which, clock::time_point now) {
  if (fresh_.empty()) oldest_ = now;
  fresh_.push_back(which);
}

std::optional<clock::time_point> write_queue::due() const {
  if (under_way_) return std::nullopt;
  std::optional<clock::time_point> first;
  if (!fresh_.empty()) first = fresh_.size() >= limits_.enough ? oldest_ : oldest_ + limits_.linger;
  for (const group& one : again_) first = std::min(first.value_or(clock::time_point::max()), one.not_before);
  return first;
}

const write_queue::group* write_queue::begin(clock::time_point now, bool all, std::size_t most) {
  if (under_way_) return nullptr;
  const bool linger = !all && fresh_.size() < limits_.enough && now < oldest_ + limits_.linger;
  return begin_fitting(now, linger ? 0 : std::min(most, limits_.most));
}

const write_queue::group* write_queue::begin_fitting(clock::time_point now, std::size_t fitting) {
  if (under_way_) return nullptr;
  stuck_.reset();
  const auto ready =
      std::find_if(again_.begin(), again_.end(), [&](const group& one) { return one.not_before <= now; });
  if (ready != again_.end()) {
    under_way_ = std::move(*ready);
    again_.erase(ready);
    return &*under_way_;
  }
  if (fresh_.empty() || fitting == 0) return nullptr;
  under_way_ = group{};
  if (fresh_.size() <= fitting) {
    under_way_->slots = std::exchange(fresh_, {});
  } else {
    const auto end = fresh_.begin() + static_cast<std::ptrdiff_t>(fitting);
    under_way_->slots.assign(fresh_.begin(), end);
    fresh_.erase(fresh_.begin(), end);
  }
  return &*under_way_;
}

std::size_t write_queue::put_off() const {
  std::size_t out = 0;
  for (const group& one : again_) out += one.slots.size();
  return out;
}

bool write_queue::meets_lock() const {
  const auto waits = [](const group& one) { return one.mode == mark_mode::unlocked; };
  return std::any_of(again_.begin(), again_.end(), waits) || (under_way_ && waits(*under_way_));
}

bool write_queue::idle() const {
  return fresh_.empty() && !under_way_ && std::all_of(again_.begin(), again_.end(), [](const group& one) {
           return one.pause >= refused_at_first;
         });
}

std::vector<slot> write_queue::refused() const {
  std::vector<slot> out;
  for (const group& one : again_)
    if (one.pause >= refused_at_first) out.insert(out.end(), one.slots.begin(), one.slots.end());
  return out;
}

std::optional<clock::time_point> write_queue::refused_since() const {
  std::optional<clock::time_point> out;
  const auto take = [&](const group& one) {
    if (one.refused_at) out = std::min(out.value_or(clock::time_point::max()), *one.refused_at);
  };
  std::for_each(again_.begin(), again_.end(), take);
  if (under_way_) take(*under_way_);
  return out;
}

std::vector<slot> write_queue::end(write_result result, std::span<const slot> left, clock::time_point now) {
  group was = std::move(*under_way_);
  under_way_.reset();
  switch (result) {
    case write_result::done: {
      if (left.size() < was.slots.size()) on_written(now);
      if (left.empty()) return std::move(was.slots);
      std::vector<slot> sorted(left.begin(), left.end());
      std::sort(sorted.begin(), sorted.end());
      const auto is_left = [&](slot one) { return std::binary_search(sorted.begin(), sorted.end(), one); };
      group locked{.slots = {},
                   .mode = mark_mode::unlocked,
                   .not_before = {},
                   .pause = was.pause,
                   .refused_at = was.refused_at};
      std::copy_if(was.slots.begin(), was.slots.end(), std::back_inserter(locked.slots), is_left);
      std::erase_if(was.slots, is_left);
      if (!locked.slots.empty()) defer(std::move(locked), locked_at_first, locked_at_most, now);
      return std::move(was.slots);
    }
    case write_result::missed:
      was.mode = mark_mode::by_key;
      again_.push_front(std::move(was));
      return {};
    case write_result::deferred:
      was.mode = mark_mode::unlocked;
      defer(std::move(was), locked_at_first, locked_at_most, now);
      return {};
    case write_result::refused:
      break;
  }
  if (was.slots.size() == 1) {
    stuck_ = was.slots.front();
    if (!was.refused_at) was.refused_at = now;
    defer(std::move(was), refused_at_first, refused_at_most, now);
    return {};
  }
  const auto middle = was.slots.begin() + static_cast<std::ptrdiff_t>(was.slots.size() / 2);
  again_.push_front({.slots = {middle, was.slots.end()},
                     .mode = mark_mode::by_key,
                     .not_before = now,
                     .pause = {},
                     .refused_at = {}});
  was.slots.erase(middle, was.slots.end());
  again_.push_front({.slots = std::move(was.slots),
                     .mode = mark_mode::by_key,
                     .not_before = now,
                     .pause = {},
                     .refused_at = {}});
  return {};
}

void write_queue::on_written(clock::time_point now) {
  const bool was_quiet = !written_at_ || now - *written_at_ >= quiet_for;
  written_at_ = now;
  if (!was_quiet) return;
  for (group& one : again_) {
    if (!one.refused_at || now - *one.refused_at < quiet_for) continue;
    one.pause = refused_at_first;
    one.not_before = now;
  }
}

void write_queue::defer(group what, std::chrono::milliseconds at_first, std::chrono::milliseconds at_most,
                        clock::time_point now) {
  what.pause = std::clamp(what.pause * 2, at_first, at_most);
  what.not_before = now + what.pause;
  again_.push_back(std::move(what));
}

void write_queue::clear() {
  fresh_.clear();
  again_.clear();
  under_way_.reset();
  stuck_.reset();
  written_at_.reset();
}

}  // namespace outboxd::flow
