// retention: how long finished rows are kept.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string_view>

namespace outboxd::relay {

struct retention_settings {
  using age = std::optional<std::chrono::milliseconds>;  // nullopt: rows are kept forever

  age published;  // how long published events are kept
  age processed;  // how long consumers' records are kept

  friend bool operator==(const retention_settings&, const retention_settings&) = default;
};

// The kinds of rows that retention deletes.
enum class prunable { published, processed, partitions };
inline constexpr std::array all_prunable{prunable::published, prunable::processed, prunable::partitions};

constexpr std::string_view name_of(prunable what) {
  switch (what) {
    case prunable::published:
      return "published";
    case prunable::processed:
      return "processed";
    case prunable::partitions:
      return "partitions";
  }
  return {};
}

}  // namespace outboxd::relay
