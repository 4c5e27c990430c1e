// pg_binary_test: PostgreSQL's binary format, byte for byte.
#include <doctest/doctest.h>

#include <limits>

#include "pg/binary.hpp"

namespace pg_binary_test {

using namespace outboxd;
using namespace outboxd::pg;
using namespace std::chrono_literals;

namespace {

std::string bytes(std::initializer_list<int> values) {
  std::string out;
  for (const int value : values) out.push_back(static_cast<char>(value));
  return out;
}

event_id id_with(std::uint8_t first, std::uint8_t last) {
  event_id id;
  id.bytes.front() = first;
  id.bytes.back() = last;
  return id;
}

}  // namespace

TEST_CASE("integers are big-endian, and read back") {
  CHECK(int4(1) == bytes({0, 0, 0, 1}));
  CHECK(int4(-2) == bytes({0xFF, 0xFF, 0xFF, 0xFE}));
  CHECK(int8(0x0102030405060708) == bytes({1, 2, 3, 4, 5, 6, 7, 8}));
  for (const std::int32_t value :
       {0, 1, -1, std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()})
    CHECK(read_int4(int4(value)) == value);
  for (const std::int64_t value :
       {std::int64_t{0}, std::int64_t{-1}, std::numeric_limits<std::int64_t>::min(),
        std::numeric_limits<std::int64_t>::max()})
    CHECK(read_int8(int8(value)) == value);
}

TEST_CASE("an array has dimensions, a flag for nulls, the element's type, its length and lower bound") {
  const std::vector<std::optional<std::int64_t>> values{7, -1};
  CHECK(int8_array(values) == bytes({0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 20, 0, 0, 0, 2, 0, 0, 0, 1}) +
                                  bytes({0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 7}) +
                                  bytes({0, 0, 0, 8, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF}));
}

TEST_CASE("a null element is a length of -1 and sets the flag") {
  const std::vector<std::optional<std::int64_t>> values{std::nullopt, 1};
  const std::string array = int8_array(values);
  CHECK(array.substr(4, 4) == bytes({0, 0, 0, 1}));
  CHECK(array.substr(20, 4) == bytes({0xFF, 0xFF, 0xFF, 0xFF}));
  CHECK(array.substr(24) == bytes({0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 1}));
}

TEST_CASE("an empty array has no dimension") {
  CHECK(int8_array(std::vector<std::int64_t>()) == bytes({0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 20}));
  CHECK(text_array({}) == bytes({0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 25}));
  CHECK(uuid_array({}) == bytes({0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x0B, 0x86}));
}

TEST_CASE("texts keep every byte, and an empty text is not null") {
  const std::vector<std::optional<std::string>> values{"", "a\"{},\\ü", std::nullopt};
  const std::string array = text_array(values);
  CHECK(array.substr(4, 4) == bytes({0, 0, 0, 1}));
  CHECK(array.substr(20) ==
        bytes({0, 0, 0, 0}) + bytes({0, 0, 0, 8}) + "a\"{},\\ü" + bytes({0xFF, 0xFF, 0xFF, 0xFF}));
}

TEST_CASE("ids are sixteen bytes each, and read back") {
  const std::vector<event_id> ids{id_with(1, 2), id_with(0xFF, 0xFE)};
  const std::string array = uuid_array(ids);
  CHECK(array.size() == 20 + 2 * 20);
  CHECK(read_uuid(std::string_view(array).substr(24, 16)) == ids[0]);
  CHECK(read_uuid(std::string_view(array).substr(44, 16)) == ids[1]);
}

TEST_CASE("a boolean is one byte") {
  CHECK(read_bool(bytes({1})));
  CHECK_FALSE(read_bool(bytes({0})));
}

TEST_CASE("of a number that is too long the beginning counts, and one that is too short is 0") {
  CHECK(read_int4(bytes({0, 0, 0, 7, 9})) == 7);
  CHECK(read_int4(bytes({0, 0, 7})) == 0);
  CHECK(read_int8({}) == 0);
}

TEST_CASE("a timestamp counts microseconds from 2000-01-01 UTC") {
  CHECK(read_timestamp(int8(0)) == timestamp(std::chrono::sys_days(std::chrono::year{2000} / 1 / 1)));
  CHECK(read_timestamp(int8(1)) - read_timestamp(int8(0)) == 1us);
  CHECK(read_timestamp(int8(-946'684'800'000'000)) == timestamp(0us));
}

TEST_CASE("the timestamp 'infinity' is the latest there is, and '-infinity' is before all others") {
  CHECK(read_timestamp(int8(std::numeric_limits<std::int64_t>::max())) == timestamp::max());
  CHECK(read_timestamp(int8(std::numeric_limits<std::int64_t>::min())) < timestamp(0us));
}

TEST_CASE("the place of a row goes back as it came") {
  const row_place first = read_tid(bytes({0, 0, 0, 3, 0, 9}));
  const row_place second = read_tid(bytes({1, 2, 3, 4, 5, 6}));
  const std::vector<row_place> both{first, second};
  CHECK(tid_array(both) == bytes({0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 27, 0, 0, 0, 2, 0, 0, 0, 1,
                                  0, 0, 0, 6, 0, 0, 0, 3, 0, 9, 0, 0,  0, 6, 1, 2, 3, 4, 5, 6}));
  CHECK(tid_array({}) == bytes({0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 27}));
  CHECK(read_tid("short") != first);
}

TEST_CASE(
    "an array of numbers is read as it was written, and cut short at any byte loses its last elements") {
  const std::vector<std::int64_t> numbers{1, -2, std::numeric_limits<std::int64_t>::max()};
  const std::string written = int8_array(numbers);
  CHECK(read_int8_array(written) == numbers);
  CHECK(read_int8_array(int8_array(std::vector<std::int64_t>())).empty());
  for (std::size_t length = 0; length < written.size(); ++length)
    CHECK(read_int8_array(written.substr(0, length)).size() < 3);
}

TEST_CASE("transaction ids are of eight bytes, and of a type of their own") {
  const std::vector<std::uint64_t> all{3, std::uint64_t{1} << 40};
  CHECK(xid8_array(all) == bytes({0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0x13, 0xCD, 0, 0, 0, 2, 0, 0, 0, 1}) +
                               bytes({0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 3}) +
                               bytes({0, 0, 0, 8, 0, 0, 1, 0, 0, 0, 0, 0}));
}

TEST_CASE("a timestamp goes back as it came, and the infinities with it") {
  for (const std::int64_t value :
       {std::int64_t{0}, std::int64_t{-1}, std::int64_t{800'000'000'000'000},
        std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()})
    CHECK(timestamptz(read_timestamp(int8(value))) == int8(value));
}

TEST_CASE("a boolean goes back as it came") {
  CHECK(read_bool(boolean(true)));
  CHECK_FALSE(read_bool(boolean(false)));
}

TEST_CASE("a short integer is two bytes") {
  CHECK(read_int2(bytes({1, 2})) == 258);
  CHECK(read_int2(bytes({0xFF, 0xFF})) == -1);
  CHECK(read_int2(bytes({1})) == 0);
}

}  // namespace pg_binary_test
