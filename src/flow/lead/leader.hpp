// leader: stands by until it has the lead of a shard, relays that shard's events, and gives the lead up.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flow/dispatch/lanes.hpp"
#include "flow/lead/doorbell.hpp"
#include "flow/lead/fair_share.hpp"
#include "flow/lead/hearing.hpp"
#include "flow/lead/leader_tasks.hpp"
#include "flow/lead/leadership.hpp"
#include "flow/lead/script.hpp"
#include "flow/limits.hpp"
#include "flow/stream/notices.hpp"
#include "flow/stream/stream.hpp"

namespace outboxd::flow {

// Pure. Returns one task at a time for the leader's session. The driver carries out the task and reports the
// result: call next(), report the answer if the task has one, and call next() again.
class leader {
 public:
  // `steps`: notified of each step of each event.
  leader(lanes& over, fair_share& share, const leader_limits& limits, observer tell,
         step_observers steps = {});

  // on_session: a session with the outbox has been opened. on_lost: the session was lost, or is about to be
  // closed.
  void on_session(payload_type payload, clock::time_point now);
  void on_lost(clock::time_point now);

  // Returns the next task. Report all notifications that have arrived before the call.
  leader_task next(clock::time_point now);

  void on_shown(bool held) { present_ = held; }
  // The lead of this shard was acquired; nullopt: no lead was acquired.
  void on_taken(std::optional<int> shard);
  void on_loaded(loaded_shard what, clock::time_point now);
  void on_requester(const std::optional<std::string>& who, clock::time_point now);
  void on_counted(int relays, clock::time_point now);
  // sent = false: sending failed, and is retried later. A rejected notification is no reason to close the
  // session.
  void on_notified_self(bool sent, clock::time_point now);
  // `usage`: from 0 to 1; nullopt: unknown.
  void on_queue_usage(std::optional<double> usage, clock::time_point now);
  // read_only: the server reported with the answer that it no longer accepts writes.
  void on_answer(store_answer what, bool read_only, clock::time_point now);

  // hear(), hear_sender() and on_sleep_lock() may be called at any time.
  void hear(word what, int count, clock::time_point now);
  void hear_sender(int process, int count, clock::time_point now);
  void on_sleep_lock(sleep_news news, clock::time_point now);

  // stop: gives up the lead in an orderly way. abandon: stops waiting for confirms. say_unmarked: reports
  // unmarked events, because the session is about to be lost.
  void stop() { lead_.stop(); }
  void abandon();
  void say_unmarked() { say_in_doubt(stream_.unmarked()); }

  // Adopts changed retries and routes, and the intervals of sweeps, polls and attempts to take a lead.
  void adopt(const leader_limits& changed, clock::time_point now);

  std::optional<int> leads() const { return shard_; }
  bool stopping() const { return lead_.stopping(); }
  // True if a read has found all visible events since the lead was acquired or resumed.
  bool has_read_all() const { return has_read_all_; }
  bool has_session() const { return lead_.has_session(); }
  bool present() const { return present_; }  // holds PRESENT
  bool may_make_way(clock::time_point now) const { return lead_.may_make_way(now); }
  bool asleep() const { return lead_.has_lead() && doorbell_.now_in() == doorbell::state::asleep; }
  bool hears() const { return hearing_.hears(); }
  // The usage of the server's notification queue, from 0 to 1.
  double queue_usage() const { return hearing_.queue_usage(); }
  const stream& events() const { return stream_; }

 private:
  // Whether PostgreSQL defers statements about events, because of locks for example.
  enum class deferral : std::uint8_t {
    none,
    unsaid,  // statements are deferred since deferred_since_, which was not reported yet
    said,
  };

  script serve();
  bool could_lead() const;
  bool mends_shards();
  bool counts_relays() const;
  void begin_sweep();
  void end_lead();
  leader_task ask_queue_usage();
  bool follow_leadership();
  std::optional<leader_task> next_while_leading();
  void drain(clock::time_point now);
  bool is_loaded() const { return stream_.now_in() != stream::phase::idle; }
  bool draining() const { return stream_.now_in() == stream::phase::draining; }

  std::optional<leader_task> heed_flood();
  void tell_if_it_hears(clock::time_point now);
  void tell_doorbell(clock::time_point now);
  void watch_deferrals(std::string_view reason, bool wrote, clock::time_point now);
  void say_in_doubt(std::vector<event_key> keys);
  clock::time_point next_question() const { return latest_question_ + claim_timeout_ / 4; }

  lanes& lanes_;
  fair_share& share_;
  const observer tell_;
  std::chrono::milliseconds sweep_interval_;
  const std::chrono::milliseconds claim_timeout_;
  std::chrono::milliseconds standby_interval_;

  std::optional<int> shard_;  // the shard that this leader leads
  int shards_ = 1;
  payload_type payload_ = payload_type::jsonb;
  bool present_ = false;
  leadership lead_;
  stream stream_;
  doorbell doorbell_;
  hearing hearing_;
  deferral deferral_ = deferral::none;
  clock::time_point deferred_since_{};

  // The current round trip.
  struct asked {
    bool reads = false;
    bool tells = false;  // whether the answer shows that reads and marks work
    bool writes = false;
  };
  asked asked_;
  bool has_read_all_ = false;
  bool wants_writes_ = false;     // the server has become read-only
  bool read_told_usage_ = false;  // a read has returned the queue's usage since the last sweep
  bool sleep_refused_ = false;    // SLEEP was refused since the last sweep
  clock::time_point latest_question_{};
  clock::time_point next_sweep_{};
  clock::time_point next_hang_check_{};  // time of the next check for leaders that hang
  clock::time_point next_shard_check_{};
  clock::time_point now_{};  // time of the last call of next()
  script script_ = serve();
};

}  // namespace outboxd::flow
