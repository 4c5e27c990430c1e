// sent_messages: the messages that a lane has sent, from the oldest without an outcome on.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <optional>
#include <utility>

#include "flow/clock.hpp"
#include "flow/dispatch/lane_client.hpp"

namespace outboxd::flow {

// Pure. The tokens of the messages number them.
class sent_messages {
 public:
  struct sent {
    queued_message what;
    clock::time_point at;
    bool open = true;                              // no outcome yet
    std::optional<clock::time_point> overtaken{};  // since when a later message has an outcome
  };

  // The token of the next message, which is then added.
  token next() const { return first_ + all_.size(); }
  void add(const queued_message& what, clock::time_point now) {
    all_.push_back({.what = what, .at = now});
    ++open_;
    if (what.returning) ++returning_;
  }

  bool empty() const { return all_.empty(); }
  // How many have no outcome.
  std::size_t in_flight() const { return open_; }
  // Of those, how many had waited in the table before.
  std::size_t returning() const { return returning_; }
  const sent& oldest() const { return all_.front(); }
  // The oldest message that is not overtaken; nullptr: there is none.
  const sent* oldest_in_turn() const {
    auto at = all_.begin() + static_cast<std::ptrdiff_t>(std::max(overtaken_to_, first_) - first_);
    while (at != all_.end() && !at->open) ++at;
    return at == all_.end() ? nullptr : &*at;
  }
  // Nothing is sent behind a message that travels alone, so that is the latest.
  bool is_alone() const { return open_ > 0 && all_.back().open && all_.back().what.alone; }

  // Takes an outcome; earlier messages count as overtaken. nullopt: it already had one, or nobody awaits it.
  std::optional<sent> close(token name, clock::time_point now);
  // Removes messages with an outcome, from the oldest on.
  void drop_closed();
  // Removes the oldest message, whose outcome nobody awaits any more.
  sent pop_oldest();
  // Takes all messages, because the channel is gone.
  std::deque<sent> take_all();

  // Ignores the outcomes of this lane_client's messages from now on.
  void forget(const lane_client& whose);
  // Counts all as sent, or overtaken, at this time.
  void postpone(clock::time_point now);

 private:
  void on_closed(const sent& one) {
    --open_;
    if (one.what.returning) --returning_;
  }

  std::deque<sent> all_;
  token first_ = 1;         // of all_
  token overtaken_to_ = 1;  // all before it are overtaken
  std::size_t open_ = 0;
  std::size_t returning_ = 0;  // of those
};

}  // namespace outboxd::flow
