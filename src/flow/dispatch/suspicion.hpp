// suspicion: whether an event makes the broker end channels or connections; suspects are sent alone to find
// out.
#pragma once

#include <cstdint>

#include "core/confirm.hpp"

namespace outboxd::flow {

// A single loss of the broker blames no event. An event that was in flight at two losses is a suspect, on
// whatever connection.
enum class suspicion : std::uint8_t {
  none,
  once,     // it was in flight, among others, when a connection ended
  suspect,  // twice, or by itself, or when a channel was closed: it travels alone
  dropped,  // the connection ended without a reason while it was alone; once more, and it is to blame
};

// When a broker dies, its connections end one after another, so an event may move from one to the next and
// lose each.
enum class incident : std::uint8_t {
  another,
  perhaps_known,  // the connection was there before the event was interrupted the last time
};

struct suspicion_change {
  suspicion now = suspicion::none;
  bool blamed = false;  // it has failed an attempt
};

// `alone`: nothing else was in flight.
suspicion_change suspicion_after(suspicion before, ending how, bool alone, incident seen = incident::another);

}  // namespace outboxd::flow
