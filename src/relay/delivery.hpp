// delivery: one claimed batch on its way to the broker: what is sent next, and what became of each event.
#pragma once

#include <cstdint>
#include <deque>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "core/batch_order.hpp"
#include "core/envelope.hpp"
#include "core/failure.hpp"
#include "core/retry_policy.hpp"
#include "relay/broker.hpp"
#include "relay/outbox.hpp"

namespace outboxd::relay {

struct delivery_settings {
  order_mode order = order_mode::strict;
  routing route;
  retry_policy retry = retry_policy::exponential(std::chrono::seconds(1), std::chrono::minutes(5), 20);
  std::string dead_letter_exchange;  // empty: none
};

// What became of claimed events. `claimed` is the sum of the others.
struct delivery_totals {
  std::uint64_t claimed = 0;
  std::uint64_t acked = 0;
  std::uint64_t nacked = 0;
  std::uint64_t returned = 0;
  std::uint64_t refused = 0;
  std::uint64_t unencodable = 0;
  std::uint64_t behind = 0;
  std::uint64_t unknown = 0;     // sent, and no answer
  std::uint64_t given_back = 0;  // not sent

  delivery_totals& operator+=(const delivery_totals& more);
};

// Pure. An event under suspicion travels alone: one that failed before, and all that were in flight when the broker
// closed the channel over one of them. So the one that closes it again is known, and takes nobody with it.
class delivery {
 public:
  delivery() = default;
  // generation: tells this batch's publishes from those of others before it.
  delivery(batch claimed, const delivery_settings& settings, std::uint32_t generation);

  // Sends what may be sent now.
  void send(broker& to, std::mt19937_64& chance);

  // The broker's word on a publish. One of an earlier batch is nobody's: false.
  bool take(const outcome& one, std::mt19937_64& chance);
  void on_channel_closed(std::span<const token> unknown, std::string_view reason, std::mt19937_64& chance);

  std::size_t in_flight() const { return in_flight_; }
  bool full() const { return full_; }  // the broker had no room for the next
  bool has_more() const { return !burials_.empty() || order_.front().has_value(); }
  bool only_successors_left() const { return burials_.empty() && order_.only_successors_left(); }

  const batch& claimed() const { return batch_; }
  const settlement& result() const { return settlement_; }
  // The same at the end, and how far each shard has got.
  const settlement& conclude();
  // The event of result().set_back[i].
  const event& set_back_event(std::size_t i) const { return batch_.events[set_back_[i]]; }
  delivery_totals totals() const;

 private:
  enum class fate : std::uint8_t {
    unsent,
    suspect,
    in_flight,
    acked,
    nacked,
    returned,
    refused,
    unencodable,
    behind
  };

  // A dead event that the dead letter exchange has not been told of yet.
  struct burial {
    std::size_t index;
    std::string reason;
  };

  bool send_event(std::size_t index, broker& to, std::mt19937_64& chance);
  void send_burial(broker& to);
  bool travels_alone(std::size_t index) const;
  void fail(std::size_t index, failure why, std::string reason, std::mt19937_64& chance);
  void bury(std::size_t index, std::string reason);
  void end_burial(std::string_view trouble);
  void die(std::size_t index, std::string reason);
  void finish(std::size_t index);
  void set_back(std::size_t index, setback how);
  token name_of(std::size_t index) const { return (token{generation_} << 32U) | index; }

  batch batch_;
  const delivery_settings* settings_ = nullptr;
  std::uint32_t generation_ = 0;
  batch_order order_;
  std::vector<fate> fates_;  // by index
  std::size_t in_flight_ = 0;
  bool alone_ = false;  // what is in flight has to be alone
  bool full_ = false;
  std::deque<burial> burials_;
  settlement settlement_;
  std::vector<std::size_t> set_back_;  // indices
};

}  // namespace outboxd::relay
