// delivery: one message as a consumer received it, with nothing lost that a check could want.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "amqp/rabbitmq.hpp"
#include "support/deadline.hpp"

namespace outboxd::test {

/// Only the properties that the message carried have a value.
struct properties {
  std::optional<std::string> content_type, content_encoding, correlation_id, reply_to, expiration, message_id,
      type, user_id, app_id, cluster_id;
  std::optional<std::uint8_t> delivery_mode, priority;
  std::optional<std::uint64_t> timestamp;  // seconds since 1970-01-01 UTC
  nlohmann::json headers = nlohmann::json::object();
  /// AMQP's field letter of every header ('S' string, 'l' int64, 't' bool, 'F' table, 'A' array, 'V' void,
  /// …); what is inside tables and arrays has the path as its name: "a.b", "a.0".
  std::map<std::string, char> header_kinds;

  bool operator==(const properties&) const = default;
};

struct delivery {
  std::string body;
  std::string exchange;
  std::string routing_key;
  std::uint64_t tag = 0;     // what ack takes
  bool redelivered = false;  // the broker handed it out before; no sign of a second publish
  test::properties properties;
  steady_clock::time_point received_at;

  std::string message_id() const { return properties.message_id.value_or(""); }

  /// Removes the headers in which a quorum queue counts its own attempts, and which no relay has sent.
  void remove_counts_of_queue() {
    for (const char* header : {"x-delivery-count", "x-acquired-count"}) {
      properties.headers.erase(header);
      properties.header_kinds.erase(header);
    }
  }
};

/// Copies everything out of the library's memory.
properties decode(const amqp_basic_properties_t& source);

}  // namespace outboxd::test
