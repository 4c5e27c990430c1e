// confirm: what the broker says of one publish.
#pragma once

#include <cstdint>
#include <string>

namespace outboxd {

using token = std::uint64_t;  // the publisher's name for one publish

enum class accepted {
  yes,   // one outcome will follow, unless the connection ends first
  full,  // nothing was sent; there will be word when there is room
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

}  // namespace outboxd
