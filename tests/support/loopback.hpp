// loopback: addresses of this machine, for sockets of the tests' own.
#pragma once

#include <netinet/in.h>

#include <cstdint>

namespace outboxd::test {

/// 127.0.0.1; port 0: any that is free.
inline sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return address;
}

}  // namespace outboxd::test
