// core_glob_test: what a pattern takes, and when one takes all that another takes.
#include "core/glob.hpp"

#include <doctest/doctest.h>

#include <random>

namespace core_glob_test {

using namespace outboxd;

namespace {

bool takes(const std::string& pattern, std::string_view name) {
  return glob(pattern).matches(name);
}

// By the definition, for ASCII.
bool takes_by_definition(std::string_view pattern, std::string_view name) {
  if (pattern.empty()) return name.empty();
  if (pattern[0] == '*')
    return takes_by_definition(pattern.substr(1), name) ||
           (!name.empty() && takes_by_definition(pattern, name.substr(1)));
  if (name.empty() || (pattern[0] != '?' && pattern[0] != name[0])) return false;
  return takes_by_definition(pattern.substr(1), name.substr(1));
}

std::string some(std::mt19937& random, std::string_view letters, std::size_t most) {
  std::string out(random() % (most + 1), ' ');
  for (char& c : out) c = letters[random() % letters.size()];
  return out;
}

}  // namespace

TEST_CASE("a pattern without a star or a question mark takes its own name") {
  CHECK(takes("order.created", "order.created"));
  CHECK_FALSE(takes("order.created", "order.create"));
  CHECK_FALSE(takes("order.created", "order.created.v2"));
  CHECK_FALSE(takes("order.created", "Order.created"));
  CHECK(takes("", ""));
  CHECK_FALSE(takes("", "x"));
}

TEST_CASE("a star takes any characters, dots as well, or none") {
  CHECK(takes("*", ""));
  CHECK(takes("order.*", "order."));
  CHECK(takes("order.*", "order.created.v2"));
  CHECK_FALSE(takes("order.*", "order"));
  CHECK(takes("*.v2", "order.created.v2"));
  CHECK(takes("a*b*c", "aXbYbZc"));
  CHECK_FALSE(takes("a*b*c", "aXcYb"));
}

TEST_CASE("a question mark takes one character, however many bytes it has") {
  CHECK(takes("order?", "orders"));
  CHECK_FALSE(takes("order?", "order"));
  CHECK(takes("caf?", "caf\u00e9"));
  CHECK_FALSE(takes("caf?", "caf\u00e9s"));
}

TEST_CASE("patterns take what the definition says, and covering is never wrong") {
  std::mt19937 random(7);
  int covered = 0;
  for (int i = 0; i < 20'000; ++i) {
    const auto wide = some(random, "ab*?", 6);
    const auto narrow = some(random, "ab*?", 6);
    const auto name = some(random, "ab", 7);
    CAPTURE(wide);
    CAPTURE(narrow);
    CAPTURE(name);
    REQUIRE(takes(wide, name) == takes_by_definition(wide, name));
    if (!glob(wide).covers(glob(narrow))) continue;
    ++covered;
    REQUIRE((!takes(narrow, name) || takes(wide, name)));
  }
  CHECK(covered > 1000);
}

TEST_CASE("a pattern covers those that are narrower, and itself") {
  CHECK(glob("*").covers(glob("order.*")));
  CHECK(glob("order.*").covers(glob("order.created")));
  CHECK(glob("order.*").covers(glob("order.*.v?")));
  CHECK(glob("order.created").covers(glob("order.created")));
  CHECK_FALSE(glob("order.*").covers(glob("*")));
  CHECK_FALSE(glob("order.?").covers(glob("order.*")));
  CHECK_FALSE(glob("a*").covers(glob("b*")));
}

TEST_CASE("a pattern with many stars ends soon") {
  CHECK_FALSE(takes("*a*a*a*a*a*a*a*a*a*a*b", std::string(2000, 'a')));
}

}  // namespace core_glob_test
