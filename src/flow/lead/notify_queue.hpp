// notify_queue: how full PostgreSQL's queue of notifications is, and whether anybody should notify. Pure.
#pragma once

namespace outboxd::flow {

struct notify_queue_limits {
  // Parts of the queue. Where nobody holds it up it stays far below the first: listeners read faster than
  // that.
  double fills_from = 0.1;
  double empty_below = 0.05;
};

// All databases of a server share one queue of notifications. A session that listens and sits in a
// transaction keeps it from being emptied. When it is full, every commit with a NOTIFY fails. So writers have
// to be silent long before that, which they are while the leader is awake.
class notify_queue {
 public:
  explicit notify_queue(const notify_queue_limits& limits = {}) : limits_(limits) {}

  // PostgreSQL says how full it is, from 0 to 1. True: it has begun to fill, or fills no longer.
  bool on_usage(double usage) {
    usage_ = usage;
    const bool before = fills_;
    fills_ = usage >= (before ? limits_.empty_below : limits_.fills_from);
    return fills_ != before;
  }
  // PostgreSQL has refused a notification: there is no room.
  bool on_refused() { return on_usage(1.0); }

  bool fills() const { return fills_; }
  double usage() const { return usage_; }
  // From here on PostgreSQL tells who holds it up, to whoever notifies (async.c, asyncQueueFillWarning).
  bool is_half_full() const { return usage_ >= 0.5; }

 private:
  notify_queue_limits limits_;
  bool fills_ = false;
  double usage_ = 0;
};

}  // namespace outboxd::flow
