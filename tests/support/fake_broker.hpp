// fake_broker: an AMQP 0-9-1 server on a loopback port that does to every client what a script says, right or
// wrong.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "support/broker_conversation.hpp"

namespace outboxd::test {

/// Each connection has a thread, which runs the script. Its functions may be called from any thread.
class fake_broker {
 public:
  using script = std::function<void(broker_conversation& with)>;

  explicit fake_broker(script first);
  ~fake_broker();
  fake_broker(const fake_broker&) = delete;
  fake_broker& operator=(const fake_broker&) = delete;

  /// The script for connections from now on. The ones that are open go on with theirs.
  void play(script next);

  std::uint16_t port() const { return port_; }
  std::string url() const;  // amqp://…

  int connections() const;
  /// The message ids of all publishes that were acknowledged, or were about to be.
  std::set<std::string> acknowledged() const;
  /// What scripts found wrong with their clients.
  std::vector<std::string> complaints() const;

 private:
  struct client {
    std::unique_ptr<broker_conversation> with;
    std::thread thread;
  };
  void accept_all();
  void serve(broker_conversation& with, const script& how);

  int listener_ = -1;
  std::uint16_t port_ = 0;
  mutable std::mutex mutex_;
  script script_;  // guarded by mutex_, as all below
  std::list<client> clients_;
  int connections_ = 0;
  std::set<std::string> acknowledged_;
  std::vector<std::string> complaints_;
  std::thread acceptor_;
};

}  // namespace outboxd::test
