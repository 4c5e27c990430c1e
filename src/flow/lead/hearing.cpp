#include "flow/lead/hearing.hpp"

#include <algorithm>
#include <utility>

namespace outboxd::flow {

void hearing::start(clock::time_point now) {
  hears_ = false;
  if (state_ == state::flooded) return;
  state_ = state::resting;
  next_ = now;
}

void hearing::on_lost(clock::time_point now) {
  if (from_all_ < limits_.flood) return;
  const bool once_more = now - lost_until_ < limits_.flood_window;
  lost_deaf_for_ = once_more ? std::min(2 * lost_deaf_for_, limits_.deaf_at_most) : limits_.deaf_for;
  stop_listening(now, lost_deaf_for_);
  lost_until_ = flood_until_;
}

void hearing::add(int sender, int count, clock::time_point now) {
  if (now - senders_since_ >= limits_.flood_window) forget_senders(now);
  by_sender_[sender] += count;
  from_all_ += count;
}

void hearing::forget_senders(clock::time_point now) {
  senders_since_ = now;
  by_sender_.clear();
  from_all_ = 0;
}

void hearing::hear(word what, clock::time_point now) {
  if (what != word::own_probe) {
    of(what).heard = true;
  } else if (listens()) {
    state_ = state::resting;
    next_ = now + limits_.proof_every;
    hears_ = true;
    if (std::exchange(said_deaf_, false)) tell_(notice::hears_again{});
  }
}

bool hearing::follows(word what, clock::time_point now) {
  hint& one = of(what);
  if (!one.heard || now < one.next) return false;
  one = {.heard = false, .next = now + limits_.follow_every};
  return true;
}

std::optional<leader_task> hearing::heed_flood(clock::time_point now) {
  std::optional<leader_task> out;
  if (listens() && from_all_ >= limits_.flood) {
    stop_listening(now, limits_.deaf_for);
    out = task::stop_listening{};
  } else if (!listens() && now >= flood_until_) {
    flood_until_ = now;
    forget_senders(now);
    state_ = state::resting;
    start(now);
    due_.heard = pause_.heard = true;  // the words may have been sent while the leader did not listen
    out = task::listen{};
  }
  tell_(notice::loudest{!listens() || flood_is_just_over(now) ? loudest_ : 0});
  return out;
}

// One sender is to blame if it sent most of the notifications of a flood that continued while the leader did
// not listen.
void hearing::stop_listening(clock::time_point now, std::chrono::milliseconds deaf_for) {
  const auto most = std::max_element(by_sender_.begin(), by_sender_.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  const bool is_one = most != by_sender_.end() && most->first > 0 && most->second >= limits_.flood / 2;
  loudest_ = is_one && flood_is_just_over(now) ? most->first : 0;
  forget_senders(now);
  state_ = state::flooded;
  hears_ = false;
  flood_until_ = now + deaf_for;
}

bool hearing::misses_proof(clock::time_point now) {
  if (state_ != state::awaiting || now < next_) return false;
  state_ = state::resting;
  next_ = now + limits_.proof_every;
  hears_ = false;
  if (!std::exchange(said_deaf_, true)) tell_(notice::deaf{});
  return true;
}

bool hearing::sends_proof(clock::time_point now) {
  if (state_ != state::resting || now < next_ || queue_.fills) return false;
  state_ = state::awaiting;
  next_ = now + limits_.proof_timeout;
  return true;
}

void hearing::on_unsent(clock::time_point now) {
  if (!listens()) return;
  state_ = state::resting;
  next_ = now;
}

void hearing::on_queue_usage(double usage) {
  const bool fills = usage >= (queue_.fills ? limits_.queue_empty_below : limits_.queue_fills_from);
  const bool is_news = fills != queue_.fills;
  queue_ = {usage, fills};
  if (is_news) tell_(notice::queue{fills, usage});
}

clock::time_point hearing::next() const {
  auto out = listens() ? clock::time_point::max() : flood_until_;
  for (const hint* one : {&due_, &pause_})
    if (one->heard) out = std::min(out, one->next);
  return out;
}

}  // namespace outboxd::flow
