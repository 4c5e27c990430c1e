// Fuzzes durations, sizes and integers. They are never negative unless written so, and their plain form is
// the same.
#include "app/config/units.hpp"

#include <string>

#include "input.hpp"

using namespace outboxd;
using fuzz::must;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::input in(data, size);
  const auto text = in.rest();
  if (const auto duration = app::parse_duration(text)) {
    must(duration->count() >= 0, "a duration is not negative");
    must(app::parse_duration(std::to_string(duration->count()) + "ms") == duration,
         "in milliseconds it is the same");
  }
  if (const auto bytes = app::parse_size(text)) {
    must(*bytes >= 0, "a size is not negative");
    must(app::parse_size(std::to_string(*bytes)) == bytes, "in bytes it is the same");
  }
  if (const auto number = app::parse_integer(text))
    must(app::parse_integer(std::to_string(*number)) == number, "an integer is the same in its plain form");
  return 0;
}
