// lock_wait: how long outboxd's sessions wait for a lock that many sessions may hold.
#pragma once

#include <chrono>

namespace outboxd::pg {

// Less than deadlock_timeout, which is 1 s by default. A session that waits longer searches for deadlocks,
// which blocks the lock operations of all other sessions. PostgreSQL also crashes in that search if more
// prepared transactions hold the lock than it has room for sessions (deadlock.c, InitDeadLockChecking;
// observed in 15).
inline constexpr std::chrono::milliseconds longest_lock_wait{800};

}  // namespace outboxd::pg
