// free_port: a TCP port of this machine for a server of a test's own.
#pragma once

namespace outboxd::test {

/// Nobody listens there, and no outgoing connection takes it.
int free_port();

}  // namespace outboxd::test
