#include "flow/dispatch/destination.hpp"

namespace outboxd::flow {
namespace {

// FNV-1a: gives the same result in each build and on each machine.
std::uint32_t hash_of(std::string_view text) {
  std::uint32_t out = 2'166'136'261U;
  for (const char each : text) out = (out ^ static_cast<unsigned char>(each)) * 16'777'619U;
  return out;
}

}  // namespace

destination_id exchange_id_of(const destination& which) {
  return static_cast<destination_id>(std::uint64_t{hash_of(which.exchange)} << 32U);
}

destination_id id_of(const destination& which) {
  const std::uint32_t key = hash_of(which.routing_key);
  return static_cast<destination_id>(static_cast<std::uint64_t>(exchange_id_of(which)) |
                                     (key == 0 ? 1U : key));
}

}  // namespace outboxd::flow
