// leader_tasks: what a leader has its driver do on its session, one thing at a time.
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

// Until then, or until a notification, progress of the lanes, or a call of the leader. No answer.
struct wait {
  clock::time_point until;
};
// The session is of no more use: the process stops, or the server wants no writes. No answer.
struct end_session {};

// To the session that has SLEEP. No answer; on_sleep_lock tells what comes of it.
struct use_sleep_lock {
  doorbell::action what = doorbell::action::none;
};

// To have them done is the answer.
struct end_hanging_leaders {};
struct end_former_sleeper {};
struct name_lock_holders {};
struct mend_shards {};  // make the rows of shards that are gone
struct listen {};       // may be refused: then nothing arrives, and the proof of hearing is missed
struct stop_listening {};
struct release_lead {};
struct allow_writes {};  // on this session

struct show_presence {  // on_shown
  bool able = false;    // takes PRESENT, or gives it back
};
struct take_lead {  // of any shard but these: on_taken
  std::vector<std::int64_t> but;
};
struct load {};              // on_loaded
struct look_for_request {};  // on_requester
struct count_relays {};      // that have a broker: on_counted
struct notify_self {};       // on_notified_self
struct ask_queue_usage {};   // on_queue_usage
struct round_trip {          // on_answer
  shared_request what;
};

}  // namespace task

using leader_task =
    std::variant<task::wait, task::end_session, task::use_sleep_lock, task::end_hanging_leaders,
                 task::end_former_sleeper, task::name_lock_holders, task::mend_shards, task::listen,
                 task::stop_listening, task::release_lead, task::allow_writes, task::show_presence,
                 task::take_lead, task::load, task::look_for_request, task::count_relays, task::notify_self,
                 task::ask_queue_usage, task::round_trip>;

// What is saved of the shard whose lead was taken, and what holds for all of the outbox.
struct loaded_shard {
  saved_position from;
  int shards = 1;
  bool rings = true;  // writers do
  timestamp server_time;
};

// What becomes of SLEEP.
enum class sleep_news : std::uint8_t {
  up,  // it may be asked for
  down,
  granted,
  refused,    // silent writers were open for as long as it waited
  contended,  // a commit waits for another one's notification
};

// What the channel says. Anybody can say anything there, so a word only has us look sooner at what is in the
// table or in the locks.
enum class word : std::uint8_t {
  own_probe,
  due,
  pause,
  yield,
  ring,
};

}  // namespace outboxd::flow
