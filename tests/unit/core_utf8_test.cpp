// core_utf8_test: what is no character is replaced, and nothing else is changed.
#include "core/utf8.hpp"

#include <doctest/doctest.h>

#include <string>

namespace core_utf8_test {

using outboxd::valid_utf8;
using outboxd::whole_characters;

TEST_CASE("valid text stays as it is") {
  for (const std::string text :
       {"", "orders", "\u00e9t\u00e9", "\u20ac", "\U0001F600", "\u007f\u0080\u07ff\u0800\uffff"})
    CHECK(valid_utf8(text) == text);
}

TEST_CASE("each byte that is no part of a character is replaced") {
  const std::string bad = "?";
  CHECK(valid_utf8("n\xC3") == "n" + bad);                         // cut inside a character
  CHECK(valid_utf8("\xA9x") == bad + "x");                         // a part without its beginning
  CHECK(valid_utf8("\xE2\x82") == bad + bad);                      // two of three bytes
  CHECK(valid_utf8("\xC0\xAF") == bad + bad);                      // overlong
  CHECK(valid_utf8("\xE0\x80\x80") == bad + bad + bad);            // overlong
  CHECK(valid_utf8("\xED\xA0\x80") == bad + bad + bad);            // a surrogate
  CHECK(valid_utf8("\xF4\x90\x80\x80") == bad + bad + bad + bad);  // above U+10FFFF
  CHECK(valid_utf8("\xFF\xFE") == bad + bad);
  CHECK(valid_utf8(std::string_view("a\0b", 3)) == "a" + bad + "b");
}

TEST_CASE("a text is cut between two characters") {
  const std::string text = "a\u00e9\u20ac\U0001F600";  // 1, 2, 3 and 4 bytes
  for (const auto& [bytes, kept] : std::initializer_list<std::pair<std::size_t, std::size_t>>{
           {0, 0}, {1, 1}, {2, 1}, {3, 3}, {5, 3}, {6, 6}, {9, 6}, {10, 10}, {99, 10}})
    CHECK(whole_characters(text, bytes).size() == kept);
  CHECK(whole_characters("", 7).empty());
}

}  // namespace core_utf8_test
