// outbox: what a lane needs of PostgreSQL. One implementation talks to the real one; a simulation may be
// another.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/event.hpp"

namespace outboxd::relay {

// An event of the batch that was not published.
struct setback {
  enum class kind {
    backing_off,  // waiting until delay has passed
    behind,       // waiting for an earlier event of its aggregate
    dead,         // never again by itself
  };
  event_id id;
  kind what = kind::backing_off;
  bool counts_attempt = false;
  bool counts_nack = false;
  std::chrono::milliseconds delay{0};  // backing_off
  std::optional<std::int64_t> behind;  // behind: that event's seq
  std::string reason;                  // empty: last_error stays as it is
};

// Of the batch's events of one shard, all below this seq were published or set back.
struct passed_shard {
  std::int16_t shard = 0;
  std::int64_t below = 0;
};

// What became of a batch. Events that are not in it stay as they were: they are given back.
struct settlement {
  std::vector<event_id> published;
  std::vector<row_place> places;  // of the published ones
  std::vector<setback> set_back;
  std::vector<std::int64_t> released;  // seqs whose followers may go: they wait behind a finished event
  std::vector<passed_shard> passed;    // how far these shards are through

  bool empty() const { return published.empty() && set_back.empty() && released.empty(); }
};

enum class then { claim, release };

// An aggregate is in one of so many, see sql/0001_event.sql.
inline constexpr int shard_count = 64;

// How many of the shards with due events a claim takes at most.
enum class reach {
  share,  // a lane's share, so that each lane finds some
  all,    // while looks come that are enough for all of it
};

// Calls answer later, through the listener, never from inside the call. One call at a time.
class outbox {
 public:
  outbox() = default;
  outbox(const outbox&) = delete;
  outbox& operator=(const outbox&) = delete;
  virtual ~outbox() = default;

  // Begins a transaction and claims. Answers on_claimed.
  virtual void claim(reach how_far) = 0;

  // Writes what became of the claimed batch and commits. Answers on_claimed for then::claim, of its share and in the
  // same round trip, and on_released for then::release.
  virtual void settle(const settlement& what, then next) = 0;
};

class outbox_listener {
 public:
  virtual void on_outbox_up() = 0;
  // An empty batch leaves no transaction open; any other has to be settled.
  virtual void on_claimed(batch claimed) = 0;
  virtual void on_released() = 0;
  // The session is gone and with it any claim. Whether an unanswered settle took effect is unknown.
  virtual void on_outbox_down() = 0;

 protected:
  ~outbox_listener() = default;
};

}  // namespace outboxd::relay
