// pauses: the parts of the outbox that operators have paused.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/event.hpp"
#include "core/glob.hpp"
#include "flow/dispatch/destinations.hpp"

namespace outboxd::flow {

// The column `part` of outbox.pause.
enum class paused_part : std::uint8_t { everything, event_type, aggregate_type, exchange, routing_key };

// An unknown part counts as everything, because pausing too little would be worse than pausing too much.
paused_part part_named(std::string_view name);

// An active row of outbox.pause.
struct pause {
  paused_part part = paused_part::everything;
  std::string name;    // a type's name, or a glob; empty for everything
  std::string reason;  // given by the operator, or empty
  std::string until;   // a formatted time, or empty

  bool operator==(const pause&) const = default;
};

// The error code of an event that waits for the end of a pause.
inline constexpr std::string_view paused_code = "paused";

class pauses {
 public:
  struct change {
    bool more = false;   // a part was paused that was not paused before
    bool fewer = false;  // a part is no longer paused
  };
  change set(std::vector<pause> in_force);

  bool everything() const { return everything_; }
  // True if an exchange or a routing key is paused.
  bool by_destination() const { return !exchanges_.empty() || !routing_keys_.empty(); }
  // True if the event's type, its aggregate's type, or its destination is paused.
  bool holds(const event& one, const destination& to) const;
  const std::vector<pause>& in_force() const { return in_force_; }

 private:
  std::vector<pause> in_force_;
  bool everything_ = false;
  std::set<std::string, std::less<>> event_types_;
  std::set<std::string, std::less<>> aggregate_types_;
  std::vector<glob> exchanges_;
  std::vector<glob> routing_keys_;
};

}  // namespace outboxd::flow
