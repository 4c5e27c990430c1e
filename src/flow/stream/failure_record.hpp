// failure_record: the values to write into the row of an event that was not published.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "flow/dispatch/destination.hpp"
#include "flow/identity.hpp"
#include "flow/stream/stored_event.hpp"

namespace outboxd::flow {

// The part of the destination that failed, for the column `last_error_scope`.
enum class failure_scope : std::uint8_t {
  routing_key,  // the exchange with this routing key
  exchange,
  topic,  // the permission to write to the exchange with this routing key
};

struct failure_record {
  event_key key;
  exception to = exception::backing_off;  // any value except none
  bool counts_attempt = false;
  // backing_off: counts from now, or from the first failure if the event waits for a destination; nullopt:
  // the event does not become due by itself. scheduled: the row has its own time; the delay only tells the
  // reader when to look.
  std::optional<std::chrono::milliseconds> delay = std::chrono::milliseconds(0);
  std::optional<destination_id> waits_for = {};
  std::string exchange = {};  // exchange of the destination in waits_for
  std::string routing_key = {};
  std::string code;  // empty: do not change last_error, its code or its scope
  std::string reason;
  failure_scope scope = failure_scope::routing_key;
};

}  // namespace outboxd::flow
