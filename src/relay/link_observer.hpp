// link_observer: who wants to know that a connection to PostgreSQL or RabbitMQ came or went.
#pragma once

#include <string>

#include "core/error.hpp"

namespace outboxd::relay {

enum class peer { database, broker };

class link_observer {
 public:
  virtual void on_link_up(peer which) = 0;
  virtual void on_link_down(peer which, const error& why) = 0;
  // An attempt to connect failed.
  virtual void on_link_refused(peer which, const error& why) = 0;
  // Notifications of PostgreSQL do not arrive although we listen, or do so again.
  virtual void on_deaf(const std::string& why) = 0;
  virtual void on_hearing_again() = 0;

 protected:
  ~link_observer() = default;
};

}  // namespace outboxd::relay
