// core_size_limit_test: what a broker's refusal tells of its limit.
#include <doctest/doctest.h>

#include <string>

#include "core/size_limit.hpp"

namespace core_size_limit_test {

using namespace outboxd;

TEST_CASE("a limit is learnt from the words of each version of RabbitMQ, and holds until it is forgotten") {
  for (const char* words :
       {"406 PRECONDITION_FAILED - message size 150 larger than max size 100",
        "406 PRECONDITION_FAILED - message size 150 is larger than configured max size 100"}) {
    CAPTURE(words);
    size_limit limit;
    CHECK(limit.check(1'000'000'000));
    CHECK(limit.learn(words));
    CHECK(limit.check(100));
    const auto refused = limit.check(101);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().kind == fault::permanent);
    for (const char* part : {"101 bytes", "takes 100", "max_message_size", "406"})
      CHECK_MESSAGE(refused.error().message.find(part) != std::string::npos, refused.error().message);
    limit.forget();
    CHECK(limit.check(101));
  }
}

TEST_CASE("other refusals, and words that an event's author may have chosen, tell no limit") {
  for (const char* words :
       {"", "406 PRECONDITION_FAILED - invalid expiration 'message size 2 max size 1'",
        "404 NOT_FOUND - no exchange 'message size 2 is larger than configured max size 1' in vhost '/'",
        "406 PRECONDITION_FAILED - message size 150 is larger than configured max size ",
        "406 PRECONDITION_FAILED - message size 150 is larger than configured max size many",
        "406 PRECONDITION_FAILED - message size 150 is larger than configured max size "
        "99999999999999999999999"}) {
    CAPTURE(words);
    size_limit limit;
    CHECK_FALSE(limit.learn(words));
    CHECK(limit.check(1'000'000'000));
  }
}

}  // namespace core_size_limit_test
