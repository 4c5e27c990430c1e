// interruption: SIGINT and SIGTERM end a run where it can clean up; a second one ends it at once.
#pragma once

namespace outboxd::bench {

// From now on the first signal is only noted.
void note_signals();

// Throws std::runtime_error after a signal. Called by whatever waits or begins something new.
void stop_if_interrupted();

}  // namespace outboxd::bench
