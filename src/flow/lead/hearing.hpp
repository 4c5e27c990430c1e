// hearing: decides whether the leader listens for notifications, and checks that notifications arrive. Pure.
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

// Each group of limits contains the effect of one kind of fault.
struct hearing_limits {
  // Any database user can send "due" or "pause". A leader reacts to the first such notification at once, and
  // to later ones at most this often.
  std::chrono::milliseconds follow_every{100};

  // A proxy or a pooler can make LISTEN ineffective without any error. A notification that the leader sends
  // to itself proves that LISTEN still works.
  std::chrono::milliseconds proof_every{10'000};
  std::chrono::milliseconds proof_timeout{3'000};  // how long that notification may take to arrive

  // PostgreSQL sends each notification to every leader. Above this rate, the leader stops listening and polls
  // instead, because polling then costs less.
  int flood = 5'000;  // notifications per window, from all senders
  std::chrono::milliseconds flood_window{5'000};
  std::chrono::milliseconds deaf_for{5'000};        // how long the leader stops listening
  std::chrono::milliseconds deaf_at_most{300'000};  // maximum after floods that each cost a session

  // All databases of a server share one queue of notifications. A session that has executed LISTEN and stays
  // in a transaction prevents the queue from being emptied. Once the queue is full, every commit with a
  // NOTIFY fails. So writers must stop notifying long before, as they do while the leader is awake. Without
  // such a session, the queue stays far below these fractions, because listeners read it fast enough.
  double queue_fills_from = 0.1;
  double queue_empty_below = 0.05;
};

class hearing {
 public:
  explicit hearing(observer tell, const hearing_limits& limits = {})
      : limits_(limits), tell_(std::move(tell)) {}

  // start: the shard is loaded, and no proof has arrived yet. end: the lead was given up or lost.
  void start(clock::time_point now);
  void end() { queue_ = {}; }
  // The session was lost. A flood of notifications may have been the cause, so the next session does not
  // listen at first. If that session is also lost to a flood after LISTEN, the one after it waits twice as
  // long.
  void on_lost(clock::time_point now);

  // `count` notifications from this server process have arrived.
  void add(int sender, int count, clock::time_point now);
  // The leader's own proof has arrived (possibly late), or the word "due" or "pause".
  void hear(word what, clock::time_point now);
  // Returns whether the leader should act on that word now.
  bool follows(word what, clock::time_point now);

  // Call this on each turn. Returns listen when a flood has ended, and stop_listening when a flood begins.
  std::optional<leader_task> heed_flood(clock::time_point now);
  // Call both functions at each sweep, after processing all notifications that have arrived, because this
  // process may have been suspended. misses_proof: whether to execute LISTEN again, because the proof is
  // overdue. sends_proof: whether to send the proof now.
  bool misses_proof(clock::time_point now);
  bool sends_proof(clock::time_point now);
  // Sending the notification failed, which proves nothing about listening. The proof must be sent again.
  void on_unsent(clock::time_point now);

  // The usage of PostgreSQL's queue, from 0 to 1.
  void on_queue_usage(double usage);

  // The time of the next check, even if nothing happens before.
  clock::time_point next() const;

  bool listens() const { return state_ != state::flooded; }
  bool hears() const { return hears_; }  // notifications are proved to arrive
  bool queue_fills() const { return queue_.fills; }
  double queue_usage() const { return queue_.usage; }

 private:
  enum class state : std::uint8_t {
    resting,   // the next proof is sent at next_
    awaiting,  // a proof was sent, and is overdue at next_
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
  bool said_deaf_ = false;  // true if deafness was reported, possibly in an earlier session
  hint due_;
  hint pause_;

  clock::time_point senders_since_{};
  std::map<int, int> by_sender_;  // notifications since senders_since_
  int from_all_ = 0;
  int loudest_ = 0;                            // 0: no single process sent most of the flood
  clock::time_point flood_until_{};            // end of the latest pause in listening
  clock::time_point lost_until_{};             // end of the latest pause that followed a lost session
  std::chrono::milliseconds lost_deaf_for_{};  // length of that pause

  queue queue_;
};

}  // namespace outboxd::flow
