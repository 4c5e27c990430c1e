// core_text_template_test: what placeholders become, and which texts are refused.
#include "core/text_template.hpp"

#include <doctest/doctest.h>

namespace core_text_template_test {

using namespace outboxd;

namespace {

event sample() {
  event one;
  one.aggregate_type = "order";
  one.aggregate_id = "7";
  one.event_type = "order.created";
  one.headers =
      R"({"tenant":"acme","n":42,"f":1.50,"yes":true,"none":null,"list":[1],"in":{"tenant":"no"},"":"e"})";
  return one;
}

std::string expanded(std::string_view text) {
  const auto parsed = text_template::parse(text);
  if (!parsed) return "bad: " + parsed.error().message;
  const auto got = parsed->expand(sample());
  return got ? *got : "lacks: " + got.error().message;
}

}  // namespace

TEST_CASE("placeholders become what the event carries") {
  CHECK(expanded("{event_type}") == "order.created");
  CHECK(expanded("{aggregate_type}.{aggregate_id}") == "order.7");
  CHECK(expanded("x-{header:tenant}-y") == "x-acme-y");
  CHECK(expanded("plain") == "plain");
  CHECK(expanded("{{event_type}} {{}}") == "{event_type} {}");
}

TEST_CASE("numbers and truth values of headers are written as JSON writes them") {
  CHECK(expanded("{header:n}") == "42");
  CHECK(expanded("{header:f}") == "1.50");
  CHECK(expanded("{header:yes}") == "true");
}

TEST_CASE("a header that is not there, or is no single value, is named") {
  for (const std::string name : {"other", "none", "list", "in"})
    CHECK(expanded("{header:" + name + "}") ==
          "lacks: has no header \"" + name + "\" with a text, a number, true or false");
}

TEST_CASE("texts that are no templates are refused with what is wrong") {
  CHECK(expanded("") == "bad: is empty; leave it out instead");
  CHECK(expanded("{evnt_type}") ==
        "bad: has the unknown placeholder {evnt_type}; there are {event_type}, {aggregate_type}, "
        "{aggregate_id} "
        "and {header:NAME}");
  CHECK(expanded("{header:}").find("unknown placeholder {header:}") != std::string::npos);
  CHECK(expanded("{}").find("unknown placeholder {}") != std::string::npos);
  CHECK(expanded("a{event_type").find("without its }") != std::string::npos);
  CHECK(expanded("a}b").find("without its {") != std::string::npos);
  CHECK(expanded(std::string_view("a\0b", 3)) == "bad: has a zero byte");
}

TEST_CASE("a text without placeholders is the same for every event") {
  CHECK(text_template::parse("orders")->fixed_text() == "orders");
  CHECK(text_template::parse("{{x}}")->fixed_text() == "{x}");
  CHECK_FALSE(text_template::parse("orders.{event_type}")->fixed_text());
}

}  // namespace core_text_template_test
