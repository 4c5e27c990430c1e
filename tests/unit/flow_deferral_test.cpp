// When it is said that PostgreSQL puts statements off, and when that it does not any more.
#include <doctest/doctest.h>

#include "flow/lead/deferral.hpp"

namespace outboxd::flow::flow_deferral_test {
namespace {

using namespace std::chrono_literals;

constexpr clock::time_point start{};

TEST_CASE("statements that are put off for a moment are not worth a word") {
  deferral one{1s};
  CHECK_FALSE(one.on_put_off(start));
  CHECK_FALSE(one.on_put_off(start + 999ms));
  CHECK_FALSE(one.on_done());
  CHECK_FALSE(one.on_put_off(start + 2s));
}

TEST_CASE("statements that are put off for long are said once, and so is their end") {
  deferral one{1s};
  CHECK_FALSE(one.on_put_off(start));
  CHECK(one.on_put_off(start + 1s));
  CHECK_FALSE(one.on_put_off(start + 5s));
  CHECK(one.on_done());
  CHECK_FALSE(one.on_done());
  CHECK_FALSE(one.on_put_off(start + 6s));
  CHECK(one.on_put_off(start + 7s));
}

}  // namespace
}  // namespace outboxd::flow::flow_deferral_test
