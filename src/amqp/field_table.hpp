// field_table: an event's headers, from the row's JSON to an AMQP field table (0-9-1 section 4.2.5,
// RabbitMQ's types).
#pragma once

#include <cstddef>
#include <vector>

#include "amqp/codec.hpp"
#include "amqp/rabbitmq.hpp"
#include "core/error.hpp"
#include "core/message.hpp"

namespace outboxd::amqp {

inline constexpr std::size_t max_header_name = 255;  // bytes; a longer one would wrap its length byte
inline constexpr std::size_t max_header_depth =
    64;  // tables and arrays inside each other, the headers included

// null V, true/false t, integer l, other number d, string S, array A, object F. A name that occurs twice in
// an object keeps its last value. Those of core/standard_headers.hpp, and what the message's format adds,
// replace the row's; the row's replace the defaults of its route. A row's header that is RabbitMQ's own
// (core/broker_headers.hpp) is left out, whatever its value. CC and BCC, with which RabbitMQ routes to
// further keys, have to be lists of texts.
class field_table {
 public:
  // `max_bytes` bounds the encoded size. The table points into this object and the message: it lives until
  // the next build. Errors are permanent (the event's own fault); they name the header and the limit, never a
  // value.
  result<amqp_table_t> build(const message& message, std::size_t max_bytes);

  struct field {
    amqp_table_entry_t entry;
    std::size_t order;  // of appearance, so that the last of a repeated name wins
  };

 private:
  pool pool_;
  std::vector<field> fields_;  // a stack while parsing, then the row's own headers
  std::vector<amqp_table_entry_t> standard_;
  std::vector<amqp_table_entry_t> merged_;
};

}  // namespace outboxd::amqp
