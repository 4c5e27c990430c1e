#include "shape.hpp"

#include <fmt/format.h>

#include <array>

namespace outboxd::chaos {

shape shape_of(std::uint64_t seed) {
  constexpr std::array relays{2, 4, 1};
  constexpr std::array shards{1, 2, 8};
  constexpr std::array batches{10, 50, 200};
  return {.relays = relays.at(seed / 3 % relays.size()),
          .guests = seed % 7 == 0 ? 0 : 1,
          .shards = shards.at(seed / 9 % shards.size()),
          .lanes = 1 + static_cast<int>(seed % 4),
          .batch = batches.at(seed % batches.size()),
          .quorum = seed % 5 == 0,
          .letters = seed % 2 == 1,
          .partitioned = seed % 7 == 6};
}

std::string shape::words() const {
  return fmt::format("{} relays{}, {} shards, {} lanes, batches of {}, a {} queue{}{}", relays,
                     guests > 0 ? " and one that comes and goes" : "", shards, lanes, batch,
                     quorum ? "quorum" : "classic", letters ? ", dead letters" : "",
                     partitioned ? ", a partitioned outbox" : "");
}

}  // namespace outboxd::chaos
