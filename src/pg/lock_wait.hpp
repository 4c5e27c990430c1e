// lock_wait: how long our sessions wait for a lock that many may hold.
#pragma once

#include <chrono>

namespace outboxd::pg {

// Less than deadlock_timeout, 1 s by default. Who waits for longer searches for deadlocks, which stops every
// other session's locks for that time; and PostgreSQL crashes in the search if more prepared transactions
// hold the lock than it has room for sessions (deadlock.c, InitDeadLockChecking: 15 does).
inline constexpr std::chrono::milliseconds longest_lock_wait{800};

}  // namespace outboxd::pg
