// failure_record: what the row of an event says after the event was not published.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "flow/dispatch/destination.hpp"
#include "flow/identity.hpp"
#include "flow/stream/stored_event.hpp"

namespace outboxd::flow {

// The part of its destination that failed; the column `last_error_scope`.
enum class failure_scope : std::uint8_t {
  routing_key,  // the exchange with the routing key
  exchange,
  topic,  // the right to write to the exchange with the routing key
};

struct failure_record {
  event_key key;
  exception to = exception::backing_off;  // any but none
  bool counts_attempt = false;
  // backing_off: from now on, or from its first failure if it waits for a destination; nullopt: no time ends
  // it. scheduled: the row has its time, this one is for the reader.
  std::optional<std::chrono::milliseconds> delay = std::chrono::milliseconds(0);
  std::optional<destination_id> waits_for = {};
  std::string exchange = {};  // of that destination
  std::string routing_key = {};
  std::string code;  // empty: last_error, its code and its scope stay as they are
  std::string reason;
  failure_scope scope = failure_scope::routing_key;
};

}  // namespace outboxd::flow
