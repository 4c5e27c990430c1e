// destination: where a message is sent, and the number that identifies this destination in the outbox.
#pragma once

#include <cstdint>
#include <string_view>

namespace outboxd::flow {

struct destination {
  std::string_view exchange;
  std::string_view routing_key;
};

// The upper half is a hash of the exchange; the lower half is a hash of the routing key, or 0 for the
// exchange with all routing keys. The table stores this number (waits_for), so its computation must never
// change. Two destinations that have the same number are probed together.
enum class destination_id : std::int64_t {};

// The number of the exchange with this routing key.
destination_id id_of(const destination& which);
// The number of the exchange with all routing keys.
destination_id exchange_id_of(const destination& which);

constexpr std::uint32_t exchange_part(destination_id which) {
  return static_cast<std::uint32_t>(static_cast<std::uint64_t>(which) >> 32U);
}
constexpr destination_id exchange_of(destination_id which) {
  return static_cast<destination_id>(std::uint64_t{exchange_part(which)} << 32U);
}
constexpr bool is_exchange(destination_id which) {
  return static_cast<std::uint32_t>(static_cast<std::uint64_t>(which)) == 0;
}

}  // namespace outboxd::flow
