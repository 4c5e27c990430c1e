// stored_event: a row of the outbox as it was read, and how it left the ordinary way.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

#include "core/event.hpp"
#include "flow/dispatch/destination.hpp"

namespace outboxd::flow {

// How an event left the ordinary way from pending to published; the column `exception`.
enum class exception : std::uint8_t {
  none,
  scheduled,    // waiting until available_at; holds nobody back
  backing_off,  // waiting until available_at after a failure; holds back its aggregate
  parked,       // waiting behind an earlier event of its aggregate; no due time of its own
  dead,
};

// A row as it was read. The views of `what` point into `storage`.
struct stored_event {
  event what;
  exception from = exception::none;
  // Pending and scheduled for later: it has to be set aside.
  std::optional<std::chrono::milliseconds> due_in = {};
  bool withheld = false;  // too large for this answer: its texts have to be fetched
  bool suspect = false;   // its last failure was a channel or connection that the broker closed over it
  // The destination that it waits for, and since when it has been failing.
  std::optional<destination_id> waits_for = {};
  std::optional<timestamp> first_failed_at = {};
  bool rests = false;          // read because of that destination: if it fails again, its row stays as it is
  bool earlier_waits = false;  // due: an earlier event of its aggregate backs off or is parked
  bool put_off = false;        // fetched: it is to be sent later by now
  std::int64_t size = 0;       // bytes of its texts; estimated while they are withheld
  std::shared_ptr<const void> storage;
};

}  // namespace outboxd::flow
