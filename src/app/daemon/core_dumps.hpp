// core_dumps: disables core dumps, which would contain the secrets in a process's memory.
#pragma once

namespace outboxd::app {

// Applies to this process and its children. To get a core dump, raise the soft limit from outside: prlimit
// --core=unlimited --pid PID.
void forbid_core_dumps();

}  // namespace outboxd::app
