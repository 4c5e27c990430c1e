// A series of runs is reported like a single run.
#include "takeovers.hpp"

#include <doctest/doctest.h>

#include <cstdlib>

namespace outboxd::chaos::takeovers_test {

using namespace std::chrono_literals;

TEST_CASE("the histogram says the median and the worst and counts each time in its class") {
  const auto text = histogram({.calm = {10ms, 11ms, 4000ms, 60ms, 70ms}, .disturbed = {}});
  CHECK(text.starts_with("5 calm takeovers, median 60 ms, worst 4000 ms\n"));
  CHECK(text.find("to 10 ms    1 #") != std::string::npos);
  CHECK(text.find("to 25 ms    1 #") != std::string::npos);
  CHECK(text.find("to 100 ms    2 ##") != std::string::npos);
  CHECK(text.find("over 3000 ms    1 #") != std::string::npos);
  CHECK(text.find("to 50 ms") == std::string::npos);
  CHECK(text.ends_with("\nno disturbed takeovers"));
  CHECK(histogram({.calm = {}, .disturbed = {9s}}).starts_with("no calm takeovers\n1 disturbed takeovers"));
}

TEST_CASE("what several runs have appended is read together") {
  std::string name = (std::filesystem::temp_directory_path() / "takeovers.XXXXXX").string();
  REQUIRE(::mkdtemp(name.data()) != nullptr);
  const auto file = std::filesystem::path{name} / "takeovers";
  append(file, {.calm = {5ms, 7ms}, .disturbed = {2s}});
  append(file, {});
  append(file, {.calm = {300ms}, .disturbed = {3s}});
  CHECK(read_takeovers(file) == takeovers{.calm = {5ms, 7ms, 300ms}, .disturbed = {2s, 3s}});
  std::filesystem::remove_all(name);
}

}  // namespace outboxd::chaos::takeovers_test
