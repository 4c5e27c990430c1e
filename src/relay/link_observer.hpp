// link_observer: who wants to know that a connection to PostgreSQL or RabbitMQ came or went.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "core/error.hpp"

namespace outboxd::relay {

enum class peer { database, broker };

class link_observer {
 public:
  virtual void on_link_up(peer which) = 0;
  virtual void on_link_down(peer which, const error& why) = 0;
  // An attempt to connect failed.
  virtual void on_link_refused(peer which, const error& why) = 0;
  // A connection to the broker takes nothing for now (connection.blocked), or again; its end is an
  // unblocking, too.
  virtual void on_link_blocked(std::string_view reason) = 0;
  virtual void on_link_unblocked() = 0;
  // The broker did not have this exchange, and has it now: nothing is bound to it yet.
  virtual void on_exchange_created(const std::string& name) = 0;
  // A certificate of ours was shown to the broker.
  virtual void on_certificate_shown(std::chrono::system_clock::time_point expires) = 0;
  // The network can read or change what a session with PostgreSQL says.
  virtual void on_open_to_network(const std::string& why) = 0;

 protected:
  ~link_observer() = default;
};

}  // namespace outboxd::relay
