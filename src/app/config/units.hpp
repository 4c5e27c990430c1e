// units: parses durations and sizes.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

namespace outboxd::app {

// Parses a whole number with the unit ms, s, m, h or d, such as "250ms" or "10s". Returns nullopt without a
// unit.
std::optional<std::chrono::milliseconds> parse_duration(std::string_view text);

// Parses a whole number of bytes, or one with the unit kB, MB, GB (powers of 1000) or KiB, MiB, GiB (powers
// of 1024).
std::optional<std::int64_t> parse_size(std::string_view text);

std::optional<std::int64_t> parse_integer(std::string_view text);

}  // namespace outboxd::app
