// changing: what becomes of events by an order: they are selected and changed in portions at a pace, each
// portion in a transaction of its own, under one row of outbox.audit. Whoever waits sees how far that is.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/operate/operator_session.hpp"
#include "app/operate/order.hpp"
#include "core/event.hpp"

namespace outboxd::app {

inline constexpr std::int64_t most_in_portion = 1000;

// Keeps to a rate: portions of a quarter of a second, and a pause before each for those before it. Without a
// rate it rests after each portion as long as that took, for writers and relays use the same table.
class pace {
 public:
  using clock = std::chrono::steady_clock;

  explicit pace(std::optional<std::int64_t> rate, clock::time_point now = clock::now())
      : rate_(rate), next_(now) {}
  std::int64_t most() const {
    return rate_ ? std::clamp<std::int64_t>(*rate_ / 4, 1, most_in_portion) : most_in_portion;
  }
  // When the next portion may begin; whoever waits until then says so with began().
  clock::time_point next() const { return next_; }
  void began(clock::time_point now = clock::now()) { next_ = now; }
  void took(std::int64_t events, clock::time_point now = clock::now()) {
    next_ += rate_ ? std::chrono::microseconds(events * 1'000'000 / *rate_) : 2 * (now - next_);
  }

 private:
  std::optional<std::int64_t> rate_;
  clock::time_point next_;
};

// In a partitioned outbox others may have the same id.
struct selected_event {
  event_id id;
  std::int64_t seq = 0;
  friend auto operator<=>(const selected_event&, const selected_event&) = default;
};
// At most so many, in seq order; none: these were all.
using event_source = std::function<outcome<std::vector<selected_event>>(std::int64_t most)>;

// Names the events that an order is about: what comes to match the selectors later is not among them. The
// server keeps the selection, outside of any transaction, as long as the session. Returns how many events it
// has.
outcome<std::int64_t> select_events(operator_session& session, const selectors& resolved, event_set from);
// The next ones of it.
outcome<std::vector<selected_event>> next_selected(operator_session& session, std::int64_t most);

// What `events postpone` and `events edit` write: an argument of the function in SQL. The expression has {}
// for the number of its parameter.
struct change_value {
  std::string name;
  std::string expression;
  std::string value;
};
// Those of this order; none for others. Files are read here, `-` is standard input.
outcome<std::vector<change_value>> values_of(operator_session& session, const order& given);

// How much is done.
struct change_figures {
  std::int64_t handled = 0;                         // looked at and, as far as possible, changed
  std::int64_t changed = 0;                         // of those
  std::map<std::string, std::int64_t> otherwise{};  // what others were, by status: published, waiting, gone …
  std::int64_t unsure = 0;  // in the portion in the middle of which PostgreSQL went away: handled or not
};

// Of an event that had not been sent: whether the change was in time.
struct settled_event {
  std::string_view id;
  std::int64_t seq = 0;
  std::string_view status;  // now; or gone
  bool in_time = false;
};

// Who waits for a change.
class onlooker {
 public:
  virtual ~onlooker() = default;
  // False: it is to stop, between two portions.
  virtual bool wait_until(pace::clock::time_point when) = 0;
  virtual void see(const change_figures& now) = 0;
  virtual void see(const settled_event& /*one*/) {}
};

struct change_end {
  bool stopped = false;
  std::string audit;         // the id of its row
  std::int64_t in_time = 0;  // of events that had not been sent
  std::int64_t too_late = 0;
};

// Changes what `next` names. If the connection is lost in the middle of a portion, it waits for PostgreSQL up
// to `patience` to find out whether that portion was committed, and fails all the same: the onlooker has seen
// what is done by then, and the message says what is not known.
outcome<change_end> change_events(operator_session& session, const order& given,
                                  const std::vector<change_value>& values, const event_source& next,
                                  onlooker& who, std::chrono::milliseconds patience);

}  // namespace outboxd::app
