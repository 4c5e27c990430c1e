// changing: applies an order to events. It selects the events and changes them in portions at a limited rate.
// Each portion is a separate transaction; all share one row of outbox.audit. The caller's onlooker is told
// about the progress.
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

// Limits the rate: a portion contains the events of a quarter of a second, and the pause before it
// compensates for the duration of earlier portions. Without a rate, the pause after each portion is as long
// as the portion took, because writers and relays use the same table.
class pace {
 public:
  using clock = std::chrono::steady_clock;

  explicit pace(std::optional<std::int64_t> rate, clock::time_point now = clock::now())
      : rate_(rate), next_(now) {}
  std::int64_t most() const {
    return rate_ ? std::clamp<std::int64_t>(*rate_ / 4, 1, most_in_portion) : most_in_portion;
  }
  // When the next portion may begin. The caller waits until then and calls began().
  clock::time_point next() const { return next_; }
  void began(clock::time_point now = clock::now()) { next_ = now; }
  void took(std::int64_t events, clock::time_point now = clock::now()) {
    next_ += rate_ ? std::chrono::microseconds(events * 1'000'000 / *rate_) : 2 * (now - next_);
  }

 private:
  std::optional<std::int64_t> rate_;
  clock::time_point next_;
};

// The seq is needed because events of a partitioned outbox may share an id.
struct selected_event {
  event_id id;
  std::int64_t seq = 0;
  friend auto operator<=>(const selected_event&, const selected_event&) = default;
};
// Returns at most `most` events in seq order. An empty result means that there are no more.
using event_source = std::function<outcome<std::vector<selected_event>>(std::int64_t most)>;

// Names the events that an order applies to. Events that match the selectors later are not included. The
// server keeps the selection outside of any transaction until the session ends. Returns the number of events.
outcome<std::int64_t> select_events(operator_session& session, const selectors& resolved, event_set from);
// The next events of the selection.
outcome<std::vector<selected_event>> next_selected(operator_session& session, std::int64_t most);

// A value that `events postpone` or `events edit` writes: an argument of the SQL function. The expression has
// {} in place of its parameter's number.
struct change_value {
  std::string name;
  std::string expression;
  std::string value;
};
// The values of a postponement or an edit. Other orders have none. Reads the files that the order names; `-`
// is standard input.
outcome<std::vector<change_value>> values_of(operator_session& session, const order& given);

// The progress of a change.
struct change_figures {
  std::int64_t handled = 0;                         // events examined and, where possible, changed
  std::int64_t changed = 0;                         // of the handled events
  std::map<std::string, std::int64_t> otherwise{};  // unchanged events by status: published, waiting, gone …
  std::int64_t unsure = 0;  // events of a portion cut off by a lost connection: handled or not
};

// An event that had not been sent, and whether the change came in time.
struct settled_event {
  std::string_view id;
  std::int64_t seq = 0;
  std::string_view status;  // its present status, or gone
  bool in_time = false;
};

// Watches a change and may stop it.
class onlooker {
 public:
  virtual ~onlooker() = default;
  // Returns false to stop the change between two portions.
  virtual bool wait_until(pace::clock::time_point when) = 0;
  virtual void see(const change_figures& now) = 0;
  virtual void see(const settled_event& /*one*/) {}
};

struct change_end {
  bool stopped = false;
  std::string audit;         // id of the row of outbox.audit
  std::int64_t in_time = 0;  // among events that had not been sent
  std::int64_t too_late = 0;
};

// Changes the events that `next` returns. If the connection is lost in the middle of a portion, the call
// waits up to `patience` for PostgreSQL, to find out whether that portion was committed. The call fails in
// either case. By then the onlooker has been told about all finished portions, and the error message says
// which result is unknown.
outcome<change_end> change_events(operator_session& session, const order& given,
                                  const std::vector<change_value>& values, const event_source& next,
                                  onlooker& who, std::chrono::milliseconds patience);

}  // namespace outboxd::app
