// leader_tasks: the tasks that a leader gives to its driver, one at a time, to carry out on its session.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "core/event.hpp"
#include "flow/clock.hpp"
#include "flow/lead/doorbell.hpp"
#include "flow/stream/store.hpp"
#include "flow/stream/stream.hpp"

namespace outboxd::flow {

namespace task {

// Waits until a time, a notification, progress of the lanes, or a call of the leader. No answer.
struct wait {
  clock::time_point until;
};
// Ends a session that is no longer useful: the process stops, or the server accepts no writes. No answer.
struct end_session {};

// Passes the action to the session that holds SLEEP. No answer; on_sleep_lock reports the result.
struct use_sleep_lock {
  doorbell::action what = doorbell::action::none;
};

// The driver reports only that these tasks are done.
struct end_hanging_leaders {};
struct end_former_sleeper {};
struct look_for_lock_holders {};
struct mend_shards {};  // creates missing rows of shards
struct listen {};       // may be rejected: then no notification arrives, and the proof of hearing is missing
struct stop_listening {};
struct release_lead {};
struct allow_writes {};  // allows writes in this session

struct show_presence {  // answer: on_shown
  bool able = false;    // true: take PRESENT; false: release it
};
struct take_lead {  // any shard except these; answer: on_taken
  std::vector<std::int64_t> but;
};
struct load {};              // answer: on_loaded
struct look_for_request {};  // answer: on_requester
struct count_relays {};      // counts the relays that have a broker; answer: on_counted
struct notify_self {};       // answer: on_notified_self
struct ask_queue_usage {};   // answer: on_queue_usage
struct round_trip {          // answer: on_answer
  shared_request what;
};

}  // namespace task

using leader_task =
    std::variant<task::wait, task::end_session, task::use_sleep_lock, task::end_hanging_leaders,
                 task::end_former_sleeper, task::look_for_lock_holders, task::mend_shards, task::listen,
                 task::stop_listening, task::release_lead, task::allow_writes, task::show_presence,
                 task::take_lead, task::load, task::look_for_request, task::count_relays, task::notify_self,
                 task::ask_queue_usage, task::round_trip>;

// The saved state of the shard whose lead was acquired, and the settings of the whole outbox.
struct loaded_shard {
  saved_position from;
  int shards = 1;
  bool rings = true;  // whether writers notify
  timestamp server_time;
};

// The result of an action on SLEEP.
enum class sleep_news : std::uint8_t {
  up,  // the session is open, so SLEEP may be requested
  down,
  granted,
  refused,    // writers that do not notify kept transactions open during the whole wait
  contended,  // a commit waits for another commit's notification
};

// The payloads of notifications. Any database user can send them, so a word only makes the leader check the
// table or the locks sooner.
enum class word : std::uint8_t {
  own_probe,
  due,
  pause,
  yield,
  ring,
};

}  // namespace outboxd::flow
