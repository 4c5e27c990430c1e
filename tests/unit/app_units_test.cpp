// app_units_test: durations, sizes and whole numbers as people write them.
#include <doctest/doctest.h>

#include <limits>

#include "app/config/units.hpp"

namespace app_units_test {

using namespace outboxd::app;
using namespace std::chrono_literals;

TEST_CASE("a duration is a whole number with its unit") {
  CHECK(parse_duration("0ms") == 0ms);
  CHECK(parse_duration("250ms") == 250ms);
  CHECK(parse_duration("10s") == 10s);
  CHECK(parse_duration("5m") == 5min);
  CHECK(parse_duration("2h") == 2h);
  CHECK(parse_duration("7d") == 168h);
  CHECK(parse_duration("007s") == 7s);
}

TEST_CASE("what is no duration is none") {
  for (const char* bad : {"", "10", "s", "-1s", "+1s", "1.5s", "1e3s", " 1s", "1s ", "1 s", "1S", "1sec",
                          "1us", "1s1s", "0x1s", "١s"}) {
    CAPTURE(bad);
    CHECK_FALSE(parse_duration(bad).has_value());
  }
}

TEST_CASE("a size is a number of bytes, in powers of 1000 or of 1024") {
  CHECK(parse_size("0") == 0);
  CHECK(parse_size("123") == 123);
  CHECK(parse_size("1B") == 1);
  CHECK(parse_size("8kB") == 8'000);
  CHECK(parse_size("8MB") == 8'000'000);
  CHECK(parse_size("8GB") == 8'000'000'000);
  CHECK(parse_size("8KiB") == 8'192);
  CHECK(parse_size("8MiB") == 8'388'608);
  CHECK(parse_size("8GiB") == 8'589'934'592);
}

TEST_CASE("what is no size is none") {
  for (const char* bad : {"", "MB", "-1", "-1MB", "1.5MB", "1 MB", "1mb", "1KB", "1kiB", "1TB", "1MBs"}) {
    CAPTURE(bad);
    CHECK_FALSE(parse_size(bad).has_value());
  }
}

TEST_CASE("what is larger than 64 bits can count is none, not something smaller") {
  CHECK(parse_duration("9223372036854775807ms") ==
        std::chrono::milliseconds(std::numeric_limits<std::int64_t>::max()));
  CHECK_FALSE(parse_duration("9223372036854775808ms").has_value());
  CHECK(parse_duration("9223372036854775s").has_value());
  CHECK_FALSE(parse_duration("9223372036854776s").has_value());
  CHECK(parse_duration("106751991167d").has_value());
  CHECK_FALSE(parse_duration("106751991168d").has_value());
  CHECK(parse_size("8589934591GiB").has_value());
  CHECK_FALSE(parse_size("8589934592GiB").has_value());
  CHECK_FALSE(parse_integer("9223372036854775808").has_value());
}

TEST_CASE("a whole number may be negative and has nothing behind it") {
  CHECK(parse_integer("0") == 0);
  CHECK(parse_integer("-3") == -3);
  for (const char* bad : {"", "-", "+3", "3.0", "3 ", " 3", "0x3", "3s"}) {
    CAPTURE(bad);
    CHECK_FALSE(parse_integer(bad).has_value());
  }
}

}  // namespace app_units_test
