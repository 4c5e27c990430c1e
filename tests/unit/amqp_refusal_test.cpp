// amqp_refusal_test: what a broker's codes and words mean.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "amqp/refusal.hpp"

namespace amqp_refusal_test {

using namespace outboxd;
using namespace outboxd::amqp;

TEST_CASE("four reply codes of a closed channel are about a message") {
  for (int code = 200; code < 600; ++code) {
    CAPTURE(code);
    const bool expected = code == 311 || code == 403 || code == 404 || code == 406;
    CHECK(is_about_a_message(static_cast<std::uint16_t>(code)) == expected);
  }
}

TEST_CASE("the reply codes of a fault are those for which a message may be to blame") {
  for (int code = 200; code < 600; ++code) {
    CAPTURE(code);
    const bool expected = (code >= 501 && code <= 505) || code == 540 || code == 541;
    CHECK(is_a_fault(static_cast<std::uint16_t>(code)) == expected);
  }
}

TEST_CASE("a refusal tells which part of the destination is meant, by the words of RabbitMQ 3.10 and 4.3") {
  struct meaning {
    std::uint16_t code;
    std::string text;
    refused_part part;
  };
  const std::vector<meaning> all{
      {404, "NOT_FOUND - no exchange 'shop' in vhost '/'", refused_part::exchange},
      {404, "NOT_FOUND - no exchange 'topic 'x'' in vhost '/'", refused_part::exchange},
      {403, "ACCESS_REFUSED - cannot publish to internal exchange 'amq.rabbitmq.trace' in vhost '/'",
       refused_part::exchange},
      {403, "ACCESS_REFUSED - write access to exchange 'shop' in vhost '/' refused for user 'relay'",
       refused_part::permission},
      {403,
       "ACCESS_REFUSED - write access to topic 'orders' in exchange 'shop' in vhost '/' refused for user "
       "'relay'",
       refused_part::topic},
      {403, "", refused_part::permission},
      {406, "PRECONDITION_FAILED - invalid expiration '\"x\"'", refused_part::message},
      {406, "PRECONDITION_FAILED - message size 150 larger than max size 100", refused_part::message},
      {311, "CONTENT_TOO_LARGE", refused_part::message}};
  for (const auto& one : all) {
    CAPTURE(one.text);
    const auto found = refusal_of(one.code, one.text);
    CHECK(found.part == one.part);
    CHECK(found.reason == std::to_string(one.code) + " " + one.text);
  }
  CHECK(refusal_of(404, "a\nb").reason.find('\n') == std::string::npos);
}

TEST_CASE("the largest body that is taken is told by the words of each version of RabbitMQ") {
  CHECK(refusal_of(406, "PRECONDITION_FAILED - message size 150 larger than max size 100").size_limit == 100);
  CHECK(refusal_of(406, "PRECONDITION_FAILED - message size 150 is larger than configured max size 100")
            .size_limit == 100);
}

TEST_CASE("other refusals, and words that an event's author may have chosen, tell no limit") {
  struct refused {
    std::uint16_t code;
    std::string text;
  };
  for (const auto& one : std::vector<refused>{
           {406, ""},
           {406, "PRECONDITION_FAILED - invalid expiration 'message size 2 max size 1'"},
           {404,
            "NOT_FOUND - no exchange 'message size 2 is larger than configured max size 1' in vhost '/'"},
           {404, "PRECONDITION_FAILED - message size 150 larger than max size 100"},
           {406, "PRECONDITION_FAILED - message size 150 is larger than configured max size "},
           {406, "PRECONDITION_FAILED - message size 150 is larger than configured max size many"},
           {406,
            "PRECONDITION_FAILED - message size 150 is larger than configured max size "
            "99999999999999999999999"}}) {
    CAPTURE(one.text);
    CHECK_FALSE(refusal_of(one.code, one.text).size_limit);
  }
}

}  // namespace amqp_refusal_test
