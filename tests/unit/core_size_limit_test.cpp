// core_size_limit_test: what a body may have that the broker takes.
#include <doctest/doctest.h>

#include <string>

#include "core/size_limit.hpp"

namespace core_size_limit_test {

using namespace outboxd;

TEST_CASE("a limit holds until it is forgotten, and the error of what is above names both") {
  size_limit limit;
  CHECK(limit.check(1'000'000'000));
  limit.set(100);
  CHECK(limit.check(100));
  const auto refused = limit.check(101);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind == fault::permanent);
  for (const char* part : {"101 bytes", "takes 100", "max_message_size", "406"})
    CHECK_MESSAGE(refused.error().message.find(part) != std::string::npos, refused.error().message);
  limit.forget();
  CHECK(limit.check(101));
}

}  // namespace core_size_limit_test
