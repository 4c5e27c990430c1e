// lock_wait: how long our sessions wait for a lock that many sessions may hold.
#pragma once

#include <chrono>

namespace outboxd::pg {

// Less than deadlock_timeout, 1 s by default. A session that waits longer searches for deadlocks, which stops
// all other sessions' locks meanwhile. PostgreSQL also crashes in that search if more prepared transactions
// hold the lock than it has room for sessions (deadlock.c, InitDeadLockChecking; seen in 15).
inline constexpr std::chrono::milliseconds longest_lock_wait{800};

}  // namespace outboxd::pg
