// closing_event: an event over which RabbitMQ closes the connection, so that its failed attempts count.
#pragma once

#include <fmt/format.h>

#include <string>

#include "support/broker_admin.hpp"
#include "support/database.hpp"

namespace outboxd::test {

// RabbitMQ closes the connection with 541 over these. Before 4.3 it takes the routing key for the name of a
// queue of direct reply-to, and cannot decode it. Version 4 cuts the words that refuse the exchange inside a
// character.
inline void insert_closing(database& session, const std::string& aggregate) {
  session.exec(
      fmt::format(
          "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload, exchange,"
          " routing_key) VALUES ('order', $1, 'poison', '{{}}', {})",
          rabbitmq_major() < 4 ? "'', 'amq.rabbitmq.reply-to.AAAA.key'" : "'nn' || repeat('é', 120), 'key'"),
      {aggregate});
}

}  // namespace outboxd::test
