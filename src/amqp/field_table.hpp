// field_table: converts an event's headers from JSON to an AMQP field table (0-9-1 section 4.2.5, RabbitMQ's
// types).
#pragma once

#include <cstddef>
#include <vector>

#include "amqp/codec.hpp"
#include "amqp/rabbitmq.hpp"
#include "core/error.hpp"
#include "core/message.hpp"

namespace outboxd::amqp {

inline constexpr std::size_t max_header_name = 255;  // bytes; a longer name would overflow its length byte
inline constexpr std::size_t max_header_depth =
    64;  // nested tables and arrays, including the headers themselves

// JSON types become: null V, true/false t, integer l, other number d, string S, array A, object F. If an
// object has several values for one name, the last value counts. Headers from core/standard_headers.hpp and
// from the message format override the row's headers, which override the route's defaults. A row's header
// that RabbitMQ writes itself (core/broker_headers.hpp) is omitted, whatever its value. CC and BCC, which
// make RabbitMQ route to additional keys, must be arrays of strings.
class field_table {
 public:
  // `max_bytes` limits the encoded size. The table points into this object and the message, and is valid
  // until the next build. Errors are permanent (the event's own fault); they name the header and the limit,
  // but never a value.
  result<amqp_table_t> build(const message& message, std::size_t max_bytes);

  struct field {
    amqp_table_entry_t entry;
    std::size_t order;  // order of appearance, so that the last of a repeated name wins
  };

 private:
  pool pool_;
  std::vector<field> fields_;  // a stack while parsing, then the row's own headers
  std::vector<amqp_table_entry_t> standard_;
  std::vector<amqp_table_entry_t> merged_;
};

}  // namespace outboxd::amqp
