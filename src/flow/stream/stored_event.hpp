// stored_event: an outbox row as read, and why it departed from normal processing.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

#include "core/event.hpp"
#include "flow/dispatch/destination.hpp"

namespace outboxd::flow {

// How an event departed from the normal path from pending to published; the column `exception`.
enum class exception : std::uint8_t {
  none,
  scheduled,    // waits until available_at; blocks no other events
  backing_off,  // waits until available_at after a failure; blocks its aggregate
  parked,       // waits behind an earlier event of its aggregate; has no due time of its own
  dead,
};

// A row as read. The views of `what` point into `storage`.
struct stored_event {
  event what;
  exception from = exception::none;
  // For a pending event that is scheduled for later: the time until it is due; the row has to be changed to
  // scheduled.
  std::optional<std::chrono::milliseconds> due_in = {};
  bool withheld = false;  // too large for this answer: its texts have to be fetched
  bool suspect = false;   // at the event's last failure the broker closed the channel or connection because
                          // of it
  // The destination for which it waits, and since when that destination has failed.
  std::optional<destination_id> waits_for = {};
  std::optional<timestamp> first_failed_at = {};
  bool read_for_destination = false;  // read for that destination: if the destination fails again, the row
                                      // does not change
  bool earlier_waits = false;         // due, but an earlier event of its aggregate backs off or is parked
  bool put_off = false;               // fetched, but was put off in the meantime
  std::int64_t size = 0;              // bytes of its texts; an estimate while they are withheld
  std::shared_ptr<const void> storage;
};

}  // namespace outboxd::flow
