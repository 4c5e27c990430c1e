#include "shape.hpp"

#include <fmt/format.h>

#include <array>

namespace outboxd::chaos {

shape shape_of(std::uint64_t seed) {
  constexpr std::array batches{10, 50, 200};
  return {.lanes = 1 + static_cast<int>(seed % 4),
          .batch = batches.at(seed % batches.size()),
          .quorum = seed % 5 == 0,
          .letters = seed % 2 == 1};
}

std::string shape::words() const {
  return fmt::format("{} lanes, batches of {}, a {} queue{}", lanes, batch, quorum ? "quorum" : "classic",
                     letters ? ", dead letters" : "");
}

}  // namespace outboxd::chaos
