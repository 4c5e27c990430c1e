// failpoint: named places where a test build can be made to die, as by kill -9, or to stop.
#pragma once

#include <chrono>
#include <string_view>

namespace outboxd {

// With OUTBOXD_FAILPOINT=name:n in the environment the process kills itself when it passes that place for the
// n-th time (n is 1 if it is missing); with name:n:stop it stops, as by kill -STOP. The places: claimed
// (events are read and nothing sent), sent (publishes are in the socket), acked (the first confirms are
// read), marking (the marks are about to be sent), half_sent (PostgreSQL has a mark, and not yet the end of
// its transaction), half_received (a part of PostgreSQL's answer is read), marked (the marks are committed
// and the relay has not acted on it). In other builds this is nothing.
#ifdef OUTBOXD_FAILPOINTS
inline constexpr bool has_failpoints = true;
void failpoint(std::string_view name);
// This wait, or with OUTBOXD_FAILPOINT_HASTE=n a part in n of it: for a wait that is no setting.
std::chrono::milliseconds hastened(std::chrono::milliseconds wait);
#else
inline constexpr bool has_failpoints = false;
inline void failpoint(std::string_view) {}
constexpr std::chrono::milliseconds hastened(std::chrono::milliseconds wait) {
  return wait;
}
#endif

}  // namespace outboxd
