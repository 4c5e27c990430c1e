// free_port: tried by binding to it.
#include "support/free_port.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <random>
#include <stdexcept>

#include "support/loopback.hpp"

namespace outboxd::test {
namespace {

bool is_free(int port) {
  const int descriptor = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const auto address = loopback(static_cast<std::uint16_t>(port));
  const bool bound = ::bind(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  ::close(descriptor);
  return bound;
}

}  // namespace

// Below the range from which the kernel takes ports for outgoing connections.
int free_port() {
  std::random_device random;
  std::uniform_int_distribution<int> ports{20'000, 31'999};
  for (int i = 0; i < 1000; ++i)
    if (const int port = ports(random); is_free(port)) return port;
  throw std::runtime_error{"found no free TCP port"};
}

}  // namespace outboxd::test
