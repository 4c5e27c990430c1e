// link_observer: the interface that is notified when a connection to PostgreSQL or RabbitMQ is opened or
// lost.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "core/error.hpp"
#include "relay/token_life.hpp"

namespace outboxd::relay {

enum class peer { database, broker };

class link_observer {
 public:
  virtual void on_link_up(peer which) = 0;
  virtual void on_link_down(peer which, const error& why) = 0;
  // An attempt to connect failed.
  virtual void on_link_refused(peer which, const error& why) = 0;
  // The broker has blocked or unblocked a connection (connection.blocked); the end of a connection also
  // unblocks it.
  virtual void on_link_blocked(std::string_view reason) = 0;
  virtual void on_link_unblocked() = 0;
  // The relay has declared this missing exchange; no queue is bound to it yet.
  virtual void on_exchange_created(const std::string& name) = 0;
  // The client certificate was presented to the broker.
  virtual void on_certificate_shown(std::chrono::system_clock::time_point expires) = 0;
  // The token of a connection to the broker was renewed, or could not be renewed yet.
  virtual void on_token_not_renewed(wall_time end, const error& why) = 0;
  virtual void on_token_renewed() = 0;
  // An attacker on the network could read or change the traffic of a session with PostgreSQL.
  virtual void on_open_to_network(const std::string& why) = 0;

 protected:
  ~link_observer() = default;
};

}  // namespace outboxd::relay
