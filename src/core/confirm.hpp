// confirm: what the broker says of one publish.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace outboxd {

using token = std::uint64_t;  // the publisher's name for one publish

enum class accepted {
  yes,   // one outcome will follow, unless the connection ends first
  full,  // nothing was sent; a callback says when there is room
};

enum class verdict {
  acked,     // a basic.ack, and no basic.return before it
  nacked,    // the broker refused it: queue full, queue process failed
  returned,  // unroutable: no queue took it
};

struct outcome {
  token id = 0;
  verdict what = verdict::acked;
  std::string reason;  // of a return, for example "312 NO_ROUTE"; empty otherwise
};

// How a channel or its connection ended, for what was in flight there without a confirm.
enum class ending : std::uint8_t {
  blameless,          // shut down, timed out, dropped by the relay: no message is to blame
  unconfirmed,        // dropped by the relay, because confirms did not arrive in time
  silent,             // the connection ended without a reason
  connection_closed,  // by the broker, with a code for a fault: a message in flight may have caused it
  channel_closed,     // by the broker, over one of the messages in flight
};

// What of a message the broker has refused, when it closed the channel over it.
enum class refused_part : std::uint8_t {
  message,     // its size, its properties, or a reason that the text does not name
  exchange,    // it is missing, or nobody may publish to it: all its messages fail alike
  permission,  // the user may not write to the exchange: the same
  topic,       // the user may not write to the exchange with this routing key
};

struct refusal {
  std::string reason;  // the code and the broker's words
  refused_part part = refused_part::message;
  std::optional<std::size_t> size_limit = {};  // of a body, in bytes, if the words tell it
};

struct interruption {
  ending how = ending::blameless;
  std::string reason = {};                    // the broker's words, if it said any
  refused_part part = refused_part::message;  // of channel_closed
};

}  // namespace outboxd
