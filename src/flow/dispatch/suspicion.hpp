// suspicion: whether an event makes the broker close channels or connections; suspects are sent alone to find
// the event at fault.
#pragma once

#include <cstdint>

#include "core/confirm.hpp"

namespace outboxd::flow {

// No event is blamed for a single lost connection. An event that was in flight at two losses, on any
// connections, is a suspect.
enum class suspicion : std::uint8_t {
  none,
  once,     // it was in flight, among others, when a connection ended
  suspect,  // after a second loss, a loss while alone, or a closed channel: it travels alone
  dropped,  // the connection ended without a reason while the event was alone on it; the next such end is
            // blamed on the event
};

// When a broker dies, its connections end one after another, so an event may be moved from one connection to
// the next and be interrupted on each.
enum class incident : std::uint8_t {
  another,
  perhaps_known,  // the connection was opened before the event was last interrupted
};

struct suspicion_change {
  suspicion now = suspicion::none;
  bool blamed = false;  // the event has failed an attempt
};

// `alone`: nothing else was in flight.
suspicion_change suspicion_after(suspicion before, ending how, bool alone, incident seen = incident::another);

}  // namespace outboxd::flow
