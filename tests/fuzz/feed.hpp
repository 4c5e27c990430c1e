// feed: gives a frame parser bytes as a socket would, in pieces.
#pragma once

#include <algorithm>
#include <string_view>

#include "amqp/frame.hpp"

namespace outboxd::fuzz {

// Puts up to `most` bytes from the front of `bytes` into the parser.
inline void feed(amqp::frame_parser& into, std::string_view& bytes, std::size_t most) {
  const auto room = into.prepare();
  const auto count = std::min({room.size(), bytes.size(), most});
  std::copy_n(bytes.begin(), count, room.begin());
  into.commit(count);
  bytes.remove_prefix(count);
}

}  // namespace outboxd::fuzz
