// pauses: the parts of the outbox that operators have paused.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/event.hpp"

namespace outboxd::flow {

// The column `part` of outbox.pause.
enum class paused_part : std::uint8_t { everything, event_type, aggregate_type };

// A row of outbox.pause that is in force.
struct pause {
  paused_part part = paused_part::everything;
  std::string name;    // of the type; empty: everything
  std::string reason;  // of the operator, or empty
  std::string until;   // a time in words, or empty

  bool operator==(const pause&) const = default;
};

// The code of an event that waits for the end of a pause.
inline constexpr std::string_view paused_code = "paused";

class pauses {
 public:
  struct change {
    bool more = false;   // something is paused that was not
    bool fewer = false;  // something is not paused any more
  };
  change set(std::vector<pause> in_force);

  bool everything() const { return everything_; }
  // Whether this event's type or its aggregate's type is paused.
  bool holds(const event& one) const;
  const std::vector<pause>& in_force() const { return in_force_; }

 private:
  std::vector<pause> in_force_;
  bool everything_ = false;
  std::set<std::string, std::less<>> event_types_;
  std::set<std::string, std::less<>> aggregate_types_;
};

}  // namespace outboxd::flow
