// failpoint: named places where a test build can be made to die, as by kill -9.
#pragma once

#include <string_view>

namespace outboxd {

// With OUTBOXD_FAILPOINT=name:n in the environment the process kills itself when it passes that place for the n-th
// time (n is 1 if it is missing). The places: claimed (events are read and nothing sent), sent (publishes are in the
// socket), acked (the first confirms are read), marking (the marks are about to be sent), marked (they are committed
// and the relay has not acted on it). In other builds this is nothing.
#ifdef OUTBOXD_FAILPOINTS
void failpoint(std::string_view name);
#else
inline void failpoint(std::string_view) {}
#endif

}  // namespace outboxd
