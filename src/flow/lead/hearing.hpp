// hearing: whether notifications reach the leader, and whether it should listen. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "flow/clock.hpp"
#include "flow/lead/leader_tasks.hpp"
#include "flow/stream/notices.hpp"

namespace outboxd::flow {

// Each group bounds one fault.
struct hearing_limits {
  // Anybody can say "due" or "pause": a leader follows each at once, and then at most this often.
  std::chrono::milliseconds follow_every{100};

  // LISTEN can die without a sign (a pooler, a proxy): a notification to itself proves that it has not.
  std::chrono::milliseconds proof_every{10'000};
  std::chrono::milliseconds proof_timeout{3'000};  // how long that notification may take

  // PostgreSQL sends each notification to every leader. A leader that is rung for more often than this polls,
  // which costs less.
  int flood = 5'000;  // in a window, of all senders
  std::chrono::milliseconds flood_window{5'000};
  std::chrono::milliseconds deaf_for{5'000};  // without listening; then it listens, to see whether it goes on
  std::chrono::milliseconds deaf_at_most{300'000};  // after floods that each cost a session

  // All databases of a server share one queue of notifications. A session that listens and sits in a
  // transaction keeps it from being emptied, and once it is full, every commit with a NOTIFY fails. So
  // writers have to be silent long before, as they are while the leader is awake. Without such a session the
  // queue stays far below these parts of it, because listeners read faster than that.
  double queue_fills_from = 0.1;
  double queue_empty_below = 0.05;
};

class hearing {
 public:
  explicit hearing(observer tell, const hearing_limits& limits = {})
      : limits_(limits), tell_(std::move(tell)) {}

  // The shard is loaded: nothing is proven yet. The lead is given up or lost.
  void start(clock::time_point now);
  void end() { queue_ = {}; }
  // The session is gone. If it has got a flood, that may be why: the next one does not listen at first. If
  // that one goes in a flood, too, when it listens, the one after it waits for twice as long.
  void on_lost(clock::time_point now);

  // So many notifications of this process of the server have arrived.
  void add(int sender, int count, clock::time_point now);
  // Its own proof, however late; or "due" or "pause".
  void hear(word what, clock::time_point now);
  // Whether to follow that word now.
  bool follows(word what, clock::time_point now);

  // At each turn: listen or stop_listening, when a flood is over or begins.
  std::optional<leader_task> heed_flood(clock::time_point now);
  // At each sweep, once what has arrived is heard: this process may have been stopped. Whether to listen
  // anew, because the proof is overdue; and whether to notify itself now.
  bool misses_proof(clock::time_point now);
  bool sends_proof(clock::time_point now);
  // That notification could not be sent, which proves nothing: it is due again.
  void on_unsent(clock::time_point now);

  // PostgreSQL says how full its queue is, from 0 to 1.
  void on_queue_usage(double usage);

  // When to look again, though nothing has happened.
  clock::time_point next() const;

  bool listens() const { return state_ != state::flooded; }
  bool hears() const { return hears_; }  // notifications are proved to arrive
  bool queue_fills() const { return queue_.fills; }
  double queue_usage() const { return queue_.usage; }

 private:
  enum class state : std::uint8_t {
    resting,   // the next proof is due at next_
    awaiting,  // one is sent, and overdue at next_
    flooded,   // does not listen until flood_until_
  };
  struct hint {
    bool heard = false;
    clock::time_point next{};
  };
  struct queue {
    double usage = 0;
    bool fills = false;
  };

  hint& of(word what) { return what == word::due ? due_ : pause_; }
  bool flood_is_just_over(clock::time_point now) const { return now - flood_until_ < limits_.flood_window; }
  void stop_listening(clock::time_point now, std::chrono::milliseconds deaf_for);
  void forget_senders(clock::time_point now);

  hearing_limits limits_;
  observer tell_;
  state state_ = state::resting;
  clock::time_point next_{};
  bool hears_ = false;
  bool said_deaf_ = false;  // also of sessions before
  hint due_;
  hint pause_;

  clock::time_point senders_since_{};
  std::map<int, int> by_sender_;  // since then
  int from_all_ = 0;
  int loudest_ = 0;                            // 0: no single process sends most of the flood
  clock::time_point flood_until_{};            // the latest one
  clock::time_point lost_until_{};             // the latest one that cost a session
  std::chrono::milliseconds lost_deaf_for_{};  // after that session

  queue queue_;
};

}  // namespace outboxd::flow
