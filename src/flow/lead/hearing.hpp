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

// Each group of limits bounds one fault.
struct hearing_limits {
  // Anybody can send "due" or "pause". A leader follows each at once, and then at most this often.
  std::chrono::milliseconds follow_every{100};

  // LISTEN can die without a sign (a pooler, a proxy). A notification that the leader sends to itself proves
  // that it still works.
  std::chrono::milliseconds proof_every{10'000};
  std::chrono::milliseconds proof_timeout{3'000};  // how long that notification may take

  // PostgreSQL sends each notification to every leader. Above this rate the leader stops listening and polls,
  // which costs less.
  int flood = 5'000;  // notifications per window, from all senders
  std::chrono::milliseconds flood_window{5'000};
  std::chrono::milliseconds deaf_for{5'000};  // without listening; then it listens to see if the flood lasts
  std::chrono::milliseconds deaf_at_most{300'000};  // after floods that each cost a session

  // All databases of a server share one queue of notifications. A session that listens and sits in a
  // transaction keeps the queue from being emptied. Once the queue is full, every commit with a NOTIFY fails.
  // So writers must be silent long before, as they are while the leader is awake. Without such a session the
  // queue stays far below these fractions, because listeners read faster than that.
  double queue_fills_from = 0.1;
  double queue_empty_below = 0.05;
};

class hearing {
 public:
  explicit hearing(observer tell, const hearing_limits& limits = {})
      : limits_(limits), tell_(std::move(tell)) {}

  // start: the shard is loaded, and no proof has arrived yet. end: the lead is given up or lost.
  void start(clock::time_point now);
  void end() { queue_ = {}; }
  // The session is lost. A flood that it got may be the cause, so the next session does not listen at first.
  // If that session is lost in a flood, too, once it listens, the session after it waits twice as long.
  void on_lost(clock::time_point now);

  // `count` notifications of this server process have arrived.
  void add(int sender, int count, clock::time_point now);
  // The leader's own proof, however late, or "due" or "pause".
  void hear(word what, clock::time_point now);
  // Whether to follow that word now.
  bool follows(word what, clock::time_point now);

  // Call it at each turn. Returns listen when a flood is over, and stop_listening when one begins.
  std::optional<leader_task> heed_flood(clock::time_point now);
  // Call both at each sweep, after hearing all arrived notifications, because this process may have been
  // stopped. misses_proof: whether to listen anew, because the proof is overdue. sends_proof: whether to send
  // the proof now.
  bool misses_proof(clock::time_point now);
  bool sends_proof(clock::time_point now);
  // The notification could not be sent, which proves nothing. The proof is due again.
  void on_unsent(clock::time_point now);

  // The usage of PostgreSQL's queue, from 0 to 1.
  void on_queue_usage(double usage);

  // The time of the next look, even if nothing happens until then.
  clock::time_point next() const;

  bool listens() const { return state_ != state::flooded; }
  bool hears() const { return hears_; }  // notifications are proved to arrive
  bool queue_fills() const { return queue_.fills; }
  double queue_usage() const { return queue_.usage; }

 private:
  enum class state : std::uint8_t {
    resting,   // the next proof is sent at next_
    awaiting,  // a proof has been sent, and is overdue at next_
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
  bool said_deaf_ = false;  // also in earlier sessions
  hint due_;
  hint pause_;

  clock::time_point senders_since_{};
  std::map<int, int> by_sender_;  // since then
  int from_all_ = 0;
  int loudest_ = 0;                            // 0: no single process sent most of the flood
  clock::time_point flood_until_{};            // end of the latest one
  clock::time_point lost_until_{};             // end of the latest one that cost a session
  std::chrono::milliseconds lost_deaf_for_{};  // time without listening after that session

  queue queue_;
};

}  // namespace outboxd::flow
