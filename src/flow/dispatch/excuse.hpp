// excuse: what a row remembers of its destination.
#pragma once

#include <cstdint>

namespace outboxd::flow {

// What an event's latest failure says of its destination: that it had worked before, where nothing else is
// said. An exchange that has worked tells nothing of a routing key.
enum class excuse : std::uint8_t {
  none,
  not_sent,           // its exchange with its routing key was down
  failed,             // the event failed there, and was not to blame
  exchange_not_sent,  // its exchange was down
  exchange_failed,    // the event failed at its exchange, and was not to blame
  refused,            // it had not worked; that the event is refused is no news
};

}  // namespace outboxd::flow
