// core_dumps: a process that has secrets in its memory leaves no copy of it when it crashes.
#pragma once

namespace outboxd::app {

// Of this process and of those that it starts. Whoever needs one raises the soft limit from outside:
// prlimit --core=unlimited --pid PID.
void forbid_core_dumps();

}  // namespace outboxd::app
