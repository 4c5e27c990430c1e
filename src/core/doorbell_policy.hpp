// doorbell_policy: when to look at the table unasked, and when to have the writers keep silent about it. Pure.
#pragma once

#include <algorithm>
#include <chrono>

namespace outboxd {

struct doorbell_limits {
  // Worth silencing the writers: so many notifications, or looks that found something, in a window. To be woken is quicker
  // than to look, and a ring costs little as long as no commit waits for another one's: then fewer are enough, and for
  // that long after it was seen.
  std::chrono::milliseconds window{100};
  int busy = 50;
  int busy_contended = 10;
  std::chrono::milliseconds contention_lasts{10'000};
  // So many notifications in a window, and twice as many as at the last sweep, are worth a sweep at once, which sees whether
  // commits wait: notifications that wait for each other may be too slow to ever become busy.
  int brisk = 5;
  // Without a find for this long it is over. The gap between the two rates keeps the relay from going back and forth.
  std::chrono::milliseconds quiet{250};
  // The same while other lanes hold what they have claimed: what has come to their shards is not found.
  std::chrono::milliseconds quiet_beside_others{1'000};
  // The same while no look is answered: the broker is away, say. Meanwhile to ring would be of no use to anybody.
  std::chrono::milliseconds patience{10'000};
  // Between two looks, and between two questions whether the silence is over: one part in `share` of the time that has
  // passed without, but at least the shortest and at most the longest, which is the sweep interval.
  int share = 8;
  std::chrono::microseconds shortest{1'000};
  std::chrono::milliseconds longest{1'000};
  // A look costs the servers about the same however much it finds, and so does each burst of messages the broker. So in a
  // rush each look may find more: after a find the pause is so long for every event of the last window beyond the unhurried
  // ones, but not much longer than batches take, so that nobody waits where they are quick; and at least the shortest and
  // at most the steady one.
  int unhurried = 150;
  std::chrono::microseconds pause_per_event{120};
  std::chrono::microseconds steady{80'000};
  // Before another attempt, when another relay has the lock.
  std::chrono::milliseconds ask_again{1'000};
};

// What to do now, each at most once.
struct doorbell_actions {
  bool look = false;          // wake a lane to claim
  bool ask_mute = false;      // one of on_granted, on_refused, on_timed_out, on_mute_down answers
  bool release_mute = false;  // no answer; done before any sweep that checks
};

// See ring_doorbell in sql/ for the locks. Who has asked for MUTE owes the writers a last look after the last silent one
// has ended, for in the meantime they have rung for nobody: that is state cooling, and what keeps wake-ups from being lost.
class doorbell_policy {
 public:
  using clock = std::chrono::steady_clock;
  using time_point = clock::time_point;

  enum class state {
    sleeping,  // notifications and the sweep only
    alert,     // looks unasked, silences nobody: little to do, or another relay has the lock
    asking,    // waits for MUTE; those who come now keep silent already
    hot,       // has it
    cooling,   // gave it up, and sweeps until nobody is left who kept silent
  };

  explicit doorbell_policy(const doorbell_limits& limits) : limits_(limits) {}

  // A new session listens. Nobody knows who has rung or kept silent before that, so a last look is owed.
  doorbell_actions on_listening(time_point now);

  // What the trigger would do: no trigger and a LISTEN that does not work mean to look more often instead.
  void set_trigger(bool exists) { trigger_ = exists; }
  void set_hears(bool hears) { hears_ = hears; }

  doorbell_actions on_notified(int count, time_point now);
  // A lane has claimed, for whatever reason, and found so many events. To find none says less while other lanes hold what
  // they have claimed: they have the shards.
  doorbell_actions on_looked(int events, bool others_hold, time_point now);
  // A batch was marked, so long after its claim was answered.
  void on_marked(clock::duration took);

  struct sweep {
    bool work = false;             // there are events to claim
    bool unannounced = false;      // and they have not just become due: somebody has committed them
    bool silence_is_over = false;  // asked and answered before the sweep began
    bool contended = false;        // a commit waits for another one's notification
  };
  doorbell_actions on_swept(const sweep& found, time_point now);
  // Does the next sweep have to ask whether the silence is over, and when at the latest is it due? The answer counts only
  // if coolings() is the same as when it was asked: meanwhile more writers may have kept silent.
  bool checks_silence() const { return state_ == state::cooling; }
  unsigned coolings() const { return coolings_; }
  time_point sweep_by() const {
    return std::min(state_ == state::cooling ? next_ : time_point::max(), wonders_since_);
  }

  // The session for MUTE can be asked, or is gone and the lock with it.
  void on_mute_up() { mute_up_ = true; }
  doorbell_actions on_mute_down(time_point now);
  doorbell_actions on_granted(time_point now);
  doorbell_actions on_refused(time_point now);
  doorbell_actions on_timed_out(time_point now);

  // When on_timer() wants to be called.
  time_point next_look() const { return looks_come() ? next_ : time_point::max(); }
  // It will look again without being told to. When it ends this it looks a last time.
  bool looks_come() const {
    return state_ == state::alert || state_ == state::asking || state_ == state::hot;
  }
  doorbell_actions on_timer(time_point now);

  state now_in() const { return state_; }
  // Some writer may have kept silent for the sake of this relay.
  bool owes() const { return owes_; }

 private:
  // How often something happened in the window that it happened last in, and in the one before.
  struct meter {
    time_point since;
    int count = 0;
    int before = 0;
    clock::duration lasted{0};  // the one before
    void add(int more, time_point now, std::chrono::milliseconds window);
    int lately(time_point now, std::chrono::milliseconds window) const;
    // In the one before, as if it had lasted for just a window.
    int rate(std::chrono::milliseconds window) const;
  };

  bool rings() const { return trigger_ && hears_; }
  bool busy(time_point now) const;
  bool idle_for(clock::duration limit, time_point now) const;
  clock::duration pause(clock::duration without) const;
  clock::duration pause_after_find() const;

  void stay_awake(state as, time_point now);
  doorbell_actions ask_if_busy(time_point now);
  doorbell_actions rest(time_point now);
  void cool(time_point now);
  void wonder_whether_commits_wait(time_point now);

  doorbell_limits limits_;
  state state_ = state::cooling;
  unsigned coolings_ = 0;
  bool owes_ = true;
  bool owed_before_ = true;  // asking
  bool mute_up_ = false;
  bool trigger_ = true;
  bool hears_ = true;
  meter notified_;
  meter finds_;
  meter events_;
  clock::duration took_{0};  // what batches take, nearer to the quick ones
  time_point last_find_;     // or since when it is awake
  time_point since_;         // cooling
  time_point next_;          // look, or sweep when cooling
  time_point no_ask_until_;
  time_point contended_until_;
  time_point wonders_since_ = time_point::max();  // whether commits wait for each other's notifications
  int wonders_at_ = 0;                            // notifications in a window, when that was asked
  int lately_ = 0;                                // and when it was answered
};

}  // namespace outboxd
