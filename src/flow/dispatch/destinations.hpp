// destinations: which of them do not take messages now, and when one of their events finds out whether they
// do again.
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
  std::size_t most = 100'000;  // that are known at a time; the events of others wait until some of these work
  // Between two probes of one destination; each pause is twice the one before.
  std::chrono::milliseconds first_probe{500};
  std::chrono::milliseconds longest_probe{60'000};
  // A probe that is lost is followed by another one. Longer than confirm_timeout as a rule.
  std::chrono::milliseconds lost_probe{15'000};
  // How long a destination that works is remembered to have failed.
  std::chrono::milliseconds remembered{5'000};
  // Between two words about what still fails; each pause is ten times the one before.
  std::chrono::milliseconds first_word{60'000};
};

// What is told of an exchange, or of the routing keys of one: once when it begins to fail, now and then while
// it does, and once when that is over.
struct destination_report {
  const destination& which;  // without a routing key: the exchange itself; else the first key that failed
  std::size_t keys = 0;      // that fail now
  std::size_t events = 0;    // that have begun to wait since it began
  std::chrono::milliseconds lasts{0};
};

struct destination_hooks {
  std::function<void(const destination_report&, std::string_view reason)> on_down;
  std::function<void(const destination_report&)> on_still_down;
  // works: else no event waits for it any more.
  std::function<void(const destination_report&, bool works)> on_up;
};

// Pure. A missing exchange or a missing right concerns the exchange; everything else the exchange with the
// routing key. What has worked before plays no part.
class destinations {
 public:
  explicit destinations(destination_hooks hooks, const destination_limits& limits = {})
      : limits_(limits), hooks_(std::move(hooks)) {}

  // A client is a stream, by a number below 64: what waits for a destination is known of each.
  void leave(int client);

  // A message, as far as it tells something of its destination.
  struct sent_event {
    std::int64_t seq = 0;
    std::optional<destination_id> waited_for{};  // it was read because of this one
  };

  // What a new event for it waits for, and why; nothing: it is sent.
  struct block {
    destination_id of;
    failure why;
    std::string_view reason;  // of the latest failure; valid until the next call that is not const
  };
  std::optional<block> find_block(const destination& to) const;
  // Whether one that was read because of this destination may still be sent: it is the probe, or others have
  // got through.
  bool may_go(destination_id of, std::int64_t seq) const;
  // As if it were blocked.
  block block_of(destination_id which) const;
  // Nothing is known against it.
  bool works(destination_id which) const {
    const auto found = troubles_.find(which);
    return found == troubles_.end() || found->second.now == condition::works;
  }

  void on_delivered(const destination& to, const sent_event& what, clock::time_point now);
  // It was not taken, for a reason whose remedy is to wait. Returns what it waits for.
  destination_id on_failed(const destination& to, failure why, const sent_event& what, int client,
                           std::string_view reason, clock::time_point now);
  // One more of this client's events waits for it, unsent.
  void on_waits(destination_id for_what, int client);
  // One is written that waits for it.
  void on_recorded(destination_id for_what, int client, clock::time_point now);
  // The table has events of this client's that wait for it.
  void on_found(destination_id what, int client, clock::time_point now);

  // What to read from the table: one event after this seq, a probe; or all that wait, for it works again.
  struct look_up {
    destination_id of;
    std::int64_t after;
    bool all;
  };
  std::vector<look_up> take_due(int client, std::size_t most, clock::time_point now);
  // When there is something to take.
  clock::time_point next_due(int client, clock::time_point now) const;
  // The answer to a look-up for a probe: this event is it; none was found; or events that wait for it go
  // elsewhere by now.
  void on_probe(destination_id of, std::int64_t seq);
  void on_no_probe(destination_id of, int client, clock::time_point now);
  // If this one is the probe, it is not sent: it is paused, or has to wait for another event.
  void on_unsent(destination_id of, std::int64_t seq, clock::time_point now);
  void on_moved(destination_id of, clock::time_point now);

  // A connection has come: what a queue has refused may be taken on a new channel.
  void on_lane_up(clock::time_point now);
  // How many do not take messages now.
  std::size_t down() const { return down_; }
  const probe_budget& budget() const { return budget_; }

 private:
  static constexpr std::int64_t before_all = std::numeric_limits<std::int64_t>::min();

  enum class condition : std::uint8_t {
    doubtful,  // one event has failed: new ones are sent as before, and the next one that fails blocks them
    blocked,   // new events wait unsent
    works,     // a message has got through: new ones are sent, and at `next` all that wait are read
  };
  // What is due goes in this order: the budget may not last for those that have failed for long.
  enum class turn : std::uint8_t { works, young, old };
  struct trouble {
    condition now = condition::doubtful;
    failure why = failure::nacked;  // of the latest
    std::string reason{};
    std::uint64_t waits_in = 0;       // bits of the clients whose events wait for it
    std::int64_t probe = before_all;  // seq of the latest one
    std::chrono::milliseconds pause{0};
    clock::time_point next{};
    turn in{};
  };
  // By exchange: of itself, or of its routing keys.
  struct report {
    std::string exchange;
    std::string routing_key;
    std::size_t troubles = 0;
    std::size_t down = 0;
    std::size_t events = 0;
    clock::time_point since{};
    clock::time_point spread_at{};  // its other keys were made due
    std::chrono::milliseconds say_pause{0};
    std::optional<clock::time_point> say_at{};  // the next word; nothing was said yet
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
  using schedule_of_turn = std::set<std::pair<clock::time_point, destination_id>>;  // by `next`
  schedule_of_turn& queue_of(turn which) { return schedule_.at(static_cast<std::size_t>(which)); }
  turn turn_of(const trouble& one) const;
  std::array<schedule_of_turn, 3> schedule_;  // each trouble is in one of them
  boost::unordered_flat_map<std::uint64_t, report> reports_;
  probe_budget budget_;
  std::size_t down_ = 0;
};

}  // namespace outboxd::flow
