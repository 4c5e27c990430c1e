// destination: where a message goes, and the number of this destination in the outbox.
#pragma once

#include <cstdint>
#include <string_view>

namespace outboxd::flow {

struct destination {
  std::string_view exchange;
  std::string_view routing_key;
};

// A hash of the exchange in the upper half, of the routing key in the lower one, which is 0 for the exchange
// with all of its routing keys. The table keeps it (waits_for), so it never changes. Two destinations with
// the same number are probed together.
enum class destination_id : std::int64_t {};

// Of the exchange with this routing key.
destination_id id_of(const destination& which);
// Of the exchange with all of its routing keys.
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
