// destinations: which exchanges and routing keys have worked, and which have stopped: what fails there is no
// fault of its event.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <boost/unordered/unordered_flat_set.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/event.hpp"
#include "core/failure.hpp"
#include "flow/clock.hpp"
#include "flow/dispatch/excuse.hpp"

namespace outboxd::flow {

struct destination {
  std::string_view exchange;
  std::string_view routing_key;
};

struct destination_limits {
  std::size_t most = 10'000;  // that are remembered to have worked, and that are known to fail
  // Between two probes of one that is down; each pause is twice the one before.
  std::chrono::milliseconds first_probe{500};
  std::chrono::milliseconds longest_probe{3'000};
  // Until a probe that travels alone is followed by another one. It holds up its lane until it is confirmed
  // or overdue, so this is longer than confirm_timeout as a rule.
  std::chrono::milliseconds lone_probe{15'000};
};

struct destination_hooks {
  std::function<void(const destination&, std::string_view reason)> on_down;
  std::function<void(const destination&, std::chrono::milliseconds down_for)> on_up;
};

// Pure. A missing exchange or a missing right concerns the exchange; everything else the exchange with the
// routing key.
class destinations {
 public:
  // Whose fault a failure is, as far as the destination can tell.
  enum class finding : std::uint8_t {
    own,      // the event's: others get through, or nobody ever has
    excused,  // perhaps the destination has just stopped working: the next failure tells
    down,     // the destination's
    login,    // perhaps the broker refuses whatever this login sends
  };

  // The default exchange counts as one that has worked: the relay declares it, or its operator has.
  destinations(std::string_view default_exchange, const destination_limits& limits, destination_hooks hooks);

  // So do those that the settings name: that one is missing is no fault of an event. Those named before are
  // forgotten.
  void trust(const std::vector<std::string>& exchanges);

  enum class permit : std::uint8_t {
    send,
    probe,        // it is down, and this one finds out whether it still is
    probe_alone,  // the same, and the broker may close the channel over it
    wait,         // it is down, and another one has found that out not long ago, or is about to
  };

  // Asked just before an event is offered to a lane.
  permit ask(const destination& to, clock::time_point now);

  // A message has been confirmed. True if it was down, or the login was in doubt: what waits for that may go.
  bool on_delivered(const destination& to, clock::time_point now);

  // One was not. `before`: what this event's earlier failure says.
  finding on_failed(const destination& to, failure why, const event_key& which, excuse before,
                    std::string_view reason, clock::time_point now);

  // All messages for the exchange fare alike.
  static bool concerns_exchange(failure why) { return why == failure::refused || why == failure::forbidden; }

  // That is down, and not its routing key.
  bool is_exchange_down(const destination& to) const { return find_down(exchange_key(to)) != nullptr; }

  // What is told of an event that is not sent because its destination is down. not_sent vouches: whoever
  // reads it takes the destination for one that has worked.
  failure reason_to_wait(const destination& to) const;
  // How long an event waits that is not sent because its destination is down: the longer, the more events
  // wait.
  std::chrono::milliseconds pause(const destination& to);
  // A connection has come or gone: a probe may be lost with it, or do better on a new one.
  void on_lane_changed(clock::time_point now);
  // A channel was closed: the probes under way are lost with it.
  void on_probes_lost(clock::time_point now);
  // How many are known to be down.
  std::size_t down() const { return down_; }

  // How long until the next probe, for an event that has failed there.
  std::chrono::milliseconds probe_pause(const destination& to) const;

 private:
  using key = std::uint64_t;

  // Of a destination that has failed since its latest confirm.
  enum class condition : std::uint8_t {
    doubtful,  // one event has failed: it is sent to as before, and another one's failure takes it down
    down,      // its events wait unsent; what was in flight may still fail, which tells nothing new
    probed,    // the same, and one of them is sent to find out
  };
  struct trouble {
    event_key first;                // that failed
    std::int64_t waiting = 0;       // events that were lately not sent because of it
    failure why = failure::nacked;  // of the latest
    bool worked = false;            // before; a queue that hangs or is full may be down without that
    condition now = condition::doubtful;
    clock::time_point since{};
    clock::time_point next_probe{};
    std::chrono::milliseconds pause{0};
  };

  static key exchange_key(const destination& of);
  static key full_key(const destination& of);
  const trouble* find_down(key which) const;
  trouble* find_down(const destination& to);
  const trouble* find_down(const destination& to) const;
  bool end_trouble(key which, const destination& to, clock::time_point now);
  void forget_unproven(key which);
  bool login_is_to_blame(key exchange, excuse before);
  bool has_worked(key which) const {
    return which == default_exchange_ || trusted_.contains(which) || worked_.contains(which);
  }
  void remember(key which);

  key default_exchange_;
  destination_limits limits_;
  destination_hooks hooks_;
  boost::unordered_flat_set<key> worked_;
  boost::unordered_flat_set<key> trusted_;  // exchanges
  boost::unordered_flat_map<key, trouble> troubles_;
  key latest_ = 0;  // that has worked
  // Exchanges that have refused the login since the latest confirm.
  boost::unordered_flat_set<key> forbidden_;
  std::size_t down_ = 0;
};

}  // namespace outboxd::flow
