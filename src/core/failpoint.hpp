// failpoint: named places at which a test build can kill or stop itself.
#pragma once

#include <chrono>
#include <string_view>

namespace outboxd {

// With OUTBOXD_FAILPOINT=name:n in the environment, the process kills itself (SIGKILL) the n-th time it
// reaches that place (default: the first); with name:n:stop it stops itself (SIGSTOP). The places: claimed
// (events are read, nothing is sent), sent (publishes are written to the socket), acked (the first confirms
// are read), marking (the marks are about to be sent), half_sent (PostgreSQL has received a mark but not the
// end of its transaction), half_received (part of PostgreSQL's answer is read), marked (the marks are
// committed, but the relay has not processed the answer). Other builds do nothing here.
#ifdef OUTBOXD_FAILPOINTS
inline constexpr bool has_failpoints = true;
void failpoint(std::string_view name);
// Returns `wait`, or 1/n of it with OUTBOXD_FAILPOINT_HASTE=n: for waits that have no setting.
std::chrono::milliseconds hastened(std::chrono::milliseconds wait);
#else
inline constexpr bool has_failpoints = false;
inline void failpoint(std::string_view) {}
constexpr std::chrono::milliseconds hastened(std::chrono::milliseconds wait) {
  return wait;
}
#endif

}  // namespace outboxd
