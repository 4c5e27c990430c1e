// fake_broker: accept, and a thread for each client.
#include "support/fake_broker.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <system_error>

#include "support/loopback.hpp"

namespace outboxd::test {
namespace {

void check(int status, const char* what) {
  if (status < 0) throw std::system_error{errno, std::generic_category(), what};
}

sockaddr* as_sockaddr(sockaddr_in& address) {
  return static_cast<sockaddr*>(static_cast<void*>(&address));
}

}  // namespace

fake_broker::fake_broker(script first) : script_{std::move(first)} {
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  check(listener_, "socket");
  auto address = loopback(0);
  socklen_t size = sizeof address;
  check(::bind(listener_, as_sockaddr(address), size), "bind");
  check(::getsockname(listener_, as_sockaddr(address), &size), "getsockname");
  check(::listen(listener_, 64), "listen");
  port_ = ntohs(address.sin_port);
  acceptor_ = std::thread{[this] { accept_all(); }};
}

fake_broker::~fake_broker() {
  ::shutdown(listener_, SHUT_RDWR);  // wakes accept()
  acceptor_.join();
  ::close(listener_);
  for (auto& one : clients_) one.with->interrupt();
  for (auto& one : clients_) one.thread.join();
}

std::string fake_broker::url() const {
  return "amqp://guest:guest@127.0.0.1:" + std::to_string(port_) + "/";
}

void fake_broker::play(script next) {
  const std::lock_guard lock{mutex_};
  script_ = std::move(next);
}

int fake_broker::connections() const {
  const std::lock_guard lock{mutex_};
  return connections_;
}

std::set<std::string> fake_broker::acknowledged() const {
  const std::lock_guard lock{mutex_};
  return acknowledged_;
}

std::vector<std::string> fake_broker::complaints() const {
  const std::lock_guard lock{mutex_};
  return complaints_;
}

void fake_broker::accept_all() {
  for (;;) {
    const int socket = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (socket < 0) return;
    const std::lock_guard lock{mutex_};
    ++connections_;
    auto& one = clients_.emplace_back();
    one.with = std::make_unique<broker_conversation>(socket, [this](const std::string& message_id) {
      const std::lock_guard inner{mutex_};
      acknowledged_.insert(message_id);
    });
    one.thread = std::thread{[this, with = one.with.get(), how = script_] { serve(*with, how); }};
  }
}

void fake_broker::serve(broker_conversation& with, const script& how) {
  try {
    how(with);
  } catch (const hung_up&) {
    // the usual end
  } catch (const std::exception& error) {
    const std::lock_guard lock{mutex_};
    complaints_.emplace_back(error.what());
  }
  with.close();
}

}  // namespace outboxd::test
