// suspicion: whether an event makes the broker end channels or connections: found by sending suspects alone.
#pragma once

#include <cstdint>

#include "core/confirm.hpp"

namespace outboxd::flow {

// A broker that goes away once blames nobody. What was in flight twice when it did is under suspicion, on
// whatever connection.
enum class suspicion : std::uint8_t {
  none,
  once,     // it was in flight, among others, when a connection ended
  suspect,  // twice, or by itself, or when a channel was closed: it travels alone
  dropped,  // by itself, and the connection ended without a word: once more, and it is to blame
};

// All connections of a broker that dies end with it, one after another: an event may be moved from one to the
// next.
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
