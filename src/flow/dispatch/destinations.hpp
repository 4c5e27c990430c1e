// destinations: tracks which destinations fail at present, and when to probe each of them with one of its
// events.
#pragma once

#include <array>
#include <boost/unordered/unordered_flat_map.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/failure.hpp"
#include "flow/clock.hpp"
#include "flow/dispatch/destination.hpp"
#include "flow/dispatch/probe_budget.hpp"

namespace outboxd::flow {

struct destination_limits {
  std::size_t most = 100'000;  // failing destinations tracked; events for others wait until there is room
  // The pause between two probes of one destination; it doubles after each probe.
  std::chrono::milliseconds first_probe{500};
  std::chrono::milliseconds longest_probe{60'000};
  // After this time, a probe without an outcome is replaced. Usually longer than confirm_timeout.
  std::chrono::milliseconds lost_probe{15'000};
  // How long the failure of a destination is remembered after it works again.
  std::chrono::milliseconds remembered{5'000};
  // The pause between two reports about a failing destination; it grows tenfold after each report.
  std::chrono::milliseconds first_word{60'000};
};

// A report about an exchange or about its routing keys: sent once when it begins to fail, then at growing
// intervals while it fails, and once when it works again.
struct destination_report {
  const destination& which;  // without a routing key: the exchange itself; else the first key that failed
  std::size_t keys = 0;      // failing routing keys
  std::size_t events = 0;    // events that have begun to wait since the destination began to fail
  std::chrono::milliseconds lasts{0};
};

struct destination_hooks {
  std::function<void(const destination_report&, std::string_view reason)> on_down;
  std::function<void(const destination_report&)> on_still_down;
  // works = false: no event waits for the destination any more.
  std::function<void(const destination_report&, bool works)> on_up;
};

// Pure. A missing exchange or permission concerns the exchange; any other failure concerns the exchange with
// that routing key. Earlier successes are not considered.
class destinations {
 public:
  explicit destinations(destination_hooks hooks, const destination_limits& limits = {})
      : limits_(limits), hooks_(std::move(hooks)) {}

  // A client is a stream, identified by a number below 64. Waiting events are tracked for each client.
  void leave(int client);

  // The properties of a message that concern its destination.
  struct sent_event {
    std::int64_t seq = 0;
    std::optional<destination_id> waited_for{};  // the destination whose recovery or probe caused the event
                                                 // to be read
  };

  // The destination that a new event must wait for, and the reason.
  struct block {
    destination_id of;
    failure why;
    std::string_view reason;  // of the last failure; valid until the next non-const call
  };
  std::optional<block> find_block(const destination& to) const;
  // Whether an event that was read for this destination may still be sent: because it is the probe, or
  // because other events got through.
  bool may_go(destination_id of, std::int64_t seq) const;
  // Returns the block of this destination, even if the destination is not blocked.
  block block_of(destination_id which) const;
  // True if no failure of the destination is known.
  bool works(destination_id which) const {
    const auto found = troubles_.find(which);
    return found == troubles_.end() || found->second.now == condition::works;
  }

  void on_delivered(const destination& to, const sent_event& what, clock::time_point now);
  // The message was refused, and the event has to wait. Returns the destination for which it waits.
  destination_id on_failed(const destination& to, failure why, const sent_event& what, int client,
                           std::string_view reason, clock::time_point now);
  // One more event of this client waits unsent for the destination.
  void on_waits(destination_id for_what, int client);
  // The record of an event that waits for the destination has been written.
  void on_recorded(destination_id for_what, int client, clock::time_point now);
  // The table has events of this client that wait for the destination.
  void on_found(destination_id what, int client, clock::time_point now);

  // What to read from the table: one event after this seq, as a probe, or all waiting events if the
  // destination works again.
  struct look_up {
    destination_id of;
    std::int64_t after;
    bool all;
  };
  std::vector<look_up> take_due(int client, std::size_t most, clock::time_point now);
  // The time at which take_due may have something to return.
  clock::time_point next_due(int client, clock::time_point now) const;
  // The results of a look-up for a probe: on_probe: this event is the probe. on_no_probe: no event waits,
  // or the waiting events now have another destination.
  void on_probe(destination_id of, std::int64_t seq);
  void on_no_probe(destination_id of, int client, clock::time_point now);
  // Called if this event, the probe, is not sent, because it is paused or must wait for another event.
  void on_unsent(destination_id of, std::int64_t seq, clock::time_point now);
  void on_moved(destination_id of, clock::time_point now);

  // A new connection is open: a queue may accept messages on a new channel that it refused on the old one.
  void on_lane_up(clock::time_point now);
  // The number of destinations that accept no messages at present.
  std::size_t down() const { return down_; }
  const probe_budget& budget() const { return budget_; }

 private:
  static constexpr std::int64_t before_all = std::numeric_limits<std::int64_t>::min();

  enum class condition : std::uint8_t {
    doubtful,  // one event has failed: new events are still sent, and the next failure blocks the destination
    blocked,   // new events wait without being sent
    works,     // a message got through: new events are sent, and all waiting events are read at `next`
  };
  // Due probes are sent in this order, because the budget may not suffice for destinations that have failed
  // for long.
  enum class turn : std::uint8_t { works, young, old };
  struct trouble {
    condition now = condition::doubtful;
    failure why = failure::nacked;  // of the last failure
    std::string reason{};
    std::uint64_t waits_in = 0;       // the clients whose events wait for the destination, one bit each
    std::int64_t probe = before_all;  // seq of the last probe
    std::chrono::milliseconds pause{0};
    clock::time_point next{};
    turn in{};
  };
  // Each exchange has two reports: one for the exchange itself, and one for its routing keys.
  struct report {
    std::string exchange;
    std::string routing_key;
    std::size_t troubles = 0;
    std::size_t down = 0;
    std::size_t events = 0;
    clock::time_point since{};
    clock::time_point spread_at{};  // time at which the exchange's other routing keys were made due
    std::chrono::milliseconds say_pause{0};
    std::optional<clock::time_point> say_at{};  // time of the next report; nullopt: nothing was reported yet
  };
  using troubles = boost::unordered_flat_map<destination_id, trouble>;

  static std::uint64_t report_key(destination_id of) {
    return std::uint64_t{exchange_part(of)} << 1U | (is_exchange(of) ? 1U : 0U);
  }
  static std::uint64_t bit(int client) { return std::uint64_t{1} << static_cast<unsigned>(client); }

  trouble* find(destination_id which);
  const trouble* find_blocked(destination_id which) const;
  trouble* begin(destination_id which, condition as, clock::time_point now, clock::time_point next);
  void schedule(destination_id which, trouble& one, clock::time_point at);
  void enter(destination_id which, trouble& one, condition next);
  void begin_to_work(destination_id which, trouble& one, clock::time_point at);
  void on_probe_delivered(destination_id which, trouble& one, clock::time_point now);
  void on_probe_failed(destination_id which, trouble& one, clock::time_point now);
  void probe_all_keys_of(destination_id which, clock::time_point now);
  void forget(destination_id which, bool works, clock::time_point now);
  void say(destination_id which, const destination& to, std::string_view reason, clock::time_point now);

  destination_limits limits_;
  destination_hooks hooks_;
  troubles troubles_;
  using schedule_of_turn = std::set<std::pair<clock::time_point, destination_id>>;  // ordered by `next`
  schedule_of_turn& queue_of(turn which) { return schedule_.at(static_cast<std::size_t>(which)); }
  turn turn_of(const trouble& one) const;
  std::array<schedule_of_turn, 3> schedule_;  // each trouble is in one of these schedules
  boost::unordered_flat_map<std::uint64_t, report> reports_;
  probe_budget budget_;
  std::size_t down_ = 0;
};

}  // namespace outboxd::flow
