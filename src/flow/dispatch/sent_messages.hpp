// sent_messages: the messages that a lane has sent, starting with the oldest without an outcome.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <optional>
#include <utility>

#include "flow/clock.hpp"
#include "flow/dispatch/lane_client.hpp"

namespace outboxd::flow {

// Pure. The messages' tokens are consecutive numbers.
class sent_messages {
 public:
  struct sent {
    queued_message what;
    clock::time_point at;
    bool open = true;                              // the message has no outcome yet
    std::optional<clock::time_point> overtaken{};  // when a later message first got its outcome
  };

  // The token for the next message; call add() after that.
  token next() const { return first_ + all_.size(); }
  void add(const queued_message& what, clock::time_point now) {
    all_.push_back({.what = what, .at = now});
    ++open_;
    if (what.returning) ++returning_;
  }

  bool empty() const { return all_.empty(); }
  // The number of messages without an outcome.
  std::size_t in_flight() const { return open_; }
  // The number of messages in flight whose event had waited in the table.
  std::size_t returning() const { return returning_; }
  const sent& oldest() const { return all_.front(); }
  // The oldest message that was not overtaken, or nullptr.
  const sent* oldest_in_turn() const {
    auto at = all_.begin() + static_cast<std::ptrdiff_t>(std::max(overtaken_to_, first_) - first_);
    while (at != all_.end() && !at->open) ++at;
    return at == all_.end() ? nullptr : &*at;
  }
  // Nothing is sent after a message that travels alone, so such a message is the last.
  bool is_alone() const { return open_ > 0 && all_.back().open && all_.back().what.alone; }

  // Records an outcome; earlier messages without an outcome count as overtaken. Returns nullopt if the
  // message already had an outcome, or no client waits for it.
  std::optional<sent> close(token name, clock::time_point now);
  // Removes messages with an outcome, from the front.
  void drop_closed();
  // Removes the oldest message, for whose outcome no client waits.
  sent pop_oldest();
  // Removes and returns all messages, because the channel is gone.
  std::deque<sent> take_all();

  // From now on, ignores the outcomes of this lane_client's messages.
  void forget(const lane_client& whose);
  // Restarts all time limits: counts all messages as sent, or overtaken, at this time.
  void postpone(clock::time_point now);

 private:
  void on_closed(const sent& one) {
    --open_;
    if (one.what.returning) --returning_;
  }

  std::deque<sent> all_;
  token first_ = 1;         // token of the first message in all_
  token overtaken_to_ = 1;  // all messages before it are overtaken
  std::size_t open_ = 0;
  std::size_t returning_ = 0;  // returning events among the messages in flight
};

}  // namespace outboxd::flow
