// interruption: the first SIGINT or SIGTERM ends a run at a point where it can clean up; a second one ends it
// at once.
#pragma once

namespace outboxd::bench {

// From now on, the first signal is only recorded.
void note_signals();

// Throws std::runtime_error after a signal. Called by code that waits or starts something new.
void stop_if_interrupted();

}  // namespace outboxd::bench
