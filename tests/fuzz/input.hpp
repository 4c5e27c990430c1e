// input: what every fuzz target shares: taking an input apart, and stopping where a property does not hold.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace outboxd::fuzz {

// libFuzzer keeps the input of a process that aborts.
inline void must(bool holds, const char* property) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", property);
  std::abort();
}

// Takes values off the front; an empty input gives zeros and empty texts for ever.
class input {
 public:
  input(const std::uint8_t* data, std::size_t size)
      : rest_(static_cast<const char*>(static_cast<const void*>(data)), size) {}

  bool empty() const { return rest_.empty(); }
  std::string_view take(std::size_t count) {
    const auto taken = rest_.substr(0, count);
    rest_.remove_prefix(taken.size());
    return taken;
  }
  std::uint64_t number(std::size_t bytes) {
    std::uint64_t value = 0;
    for (const char c : take(bytes)) value = value << 8U | static_cast<unsigned char>(c);
    return value;
  }
  std::uint8_t byte() { return static_cast<std::uint8_t>(number(1)); }
  // Two bytes of length, then the text.
  std::string_view text() { return take(static_cast<std::size_t>(number(2))); }
  std::string_view rest() { return take(rest_.size()); }

 private:
  std::string_view rest_;
};

}  // namespace outboxd::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
