// units: durations and sizes as people write them.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

namespace outboxd::app {

// A whole number with ms, s, m, h or d: "250ms", "10s". No unit: none.
std::optional<std::chrono::milliseconds> parse_duration(std::string_view text);

// A whole number of bytes, or with kB, MB, GB (powers of 1000) or KiB, MiB, GiB (powers of 1024).
std::optional<std::int64_t> parse_size(std::string_view text);

std::optional<std::int64_t> parse_integer(std::string_view text);

}  // namespace outboxd::app
