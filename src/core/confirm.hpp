// confirm: the broker's answer to one published message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace outboxd {

using token = std::uint64_t;  // identifies one published message; chosen by the publisher

enum class accepted {
  yes,   // one outcome will follow, unless the connection ends first
  full,  // nothing was sent; a callback reports when there is room
};

enum class verdict {
  acked,     // a basic.ack without an earlier basic.return
  nacked,    // the broker refused the message: queue full, or queue process failed
  returned,  // unroutable: no queue is bound for it
};

struct outcome {
  token id = 0;
  verdict what = verdict::acked;
  std::string reason;  // for a return, for example "312 NO_ROUTE"; empty otherwise
};

// How a channel or connection ended, for the messages that were in flight on it without a confirm.
enum class ending : std::uint8_t {
  blameless,          // shut down, timed out, dropped by the relay: no message is to blame
  unconfirmed,        // dropped by the relay because confirms did not arrive in time
  silent,             // the connection ended without a reason
  connection_closed,  // by the broker, with an error code: a message in flight may have caused it
  channel_closed,     // by the broker, because of one of the messages in flight
};

// Which part of a message the broker objected to when it closed the channel.
enum class refused_part : std::uint8_t {
  message,     // its size, its properties, or a cause that the reply text does not name
  exchange,    // it is missing or internal: every message to it fails
  permission,  // the user may not write to the exchange: every message to it fails
  topic,       // the user may not write to the exchange with this routing key
};

struct refusal {
  std::string reason;  // the reply code and text
  refused_part part = refused_part::message;
  std::optional<std::size_t> size_limit = {};  // of a body, in bytes, if the reply text states it
};

struct interruption {
  ending how = ending::blameless;
  std::string reason = {};                    // the broker's reply text, if any
  refused_part part = refused_part::message;  // for channel_closed
};

}  // namespace outboxd
