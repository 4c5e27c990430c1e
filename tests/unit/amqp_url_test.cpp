// amqp_url_test: the RabbitMQ URI specification, and what a mistyped URL may reveal.
#include <doctest/doctest.h>

#include <string>

#include "amqp/url.hpp"

namespace amqp_url_test {

using outboxd::fault;
using outboxd::amqp::parse_url;

namespace {

std::string parts(std::string_view text) {
  const auto u = parse_url(text);
  if (!u) return "error: " + u.error().message;
  return u->user + "|" + u->password + "|" + u->host + "|" + std::to_string(u->port) + "|" + u->vhost;
}

std::string refusal(std::string_view text) {
  const auto u = parse_url(text);
  REQUIRE_FALSE(u.has_value());
  CHECK(u.error().kind == fault::permanent);
  return u.error().message;
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("every part of an AMQP URL is read, and absent ones take their defaults") {
  CHECK(parts("amqp://u:p@h:1000/v") == "u|p|h|1000|v");
  CHECK(parts("amqp://") == "guest|guest|localhost|5672|/");
  CHECK(parts("amqp://h") == "guest|guest|h|5672|/");
  CHECK(parts("amqp://:1000") == "guest|guest|localhost|1000|/");
  CHECK(parts("AMQP://u@h") == "u|guest|h|5672|/");
  CHECK(parts("amqp://u:@h") == "u||h|5672|/");
  CHECK(parts("amqp://:@h") == "||h|5672|/");
  CHECK(parts("amqp://h:65535") == "guest|guest|h|65535|/");
}

TEST_CASE("no vhost, or a bare slash, is the vhost /") {
  CHECK(parts("amqp://h/") == "guest|guest|h|5672|/");
  CHECK(parts("amqp://h/%2f") == "guest|guest|h|5672|/");
  CHECK(parts("amqp://h/%2F") == "guest|guest|h|5672|/");
  CHECK(parts("amqp://h/a%2fb") == "guest|guest|h|5672|a/b");
}

TEST_CASE("percent-encoded separators belong to the part that they stand in") {
  CHECK(parts("amqp://us%40er:p%40%3A%2F%3F%23%25w@ho%61st:1/v%20h") == "us@er|p@:/?#%w|hoast|1|v h");
}

TEST_CASE("IPv6 addresses stand in brackets") {
  CHECK(parts("amqp://[::1]") == "guest|guest|::1|5672|/");
  CHECK(parts("amqp://u:p@[2001:db8::1]:1000/v") == "u|p|2001:db8::1|1000|v");
  CHECK(parts("amqp://[fe80::1%25eth0]") == "guest|guest|fe80::1%eth0|5672|/");
  CHECK(has(refusal("amqp://[::1"), "]"));
  CHECK(has(refusal("amqp://[::1]5672"), "port"));
  CHECK(has(refusal("amqp://[localhost]"), "IPv6"));
  CHECK(has(refusal("amqp://[]"), "IPv6"));
}

TEST_CASE("a bad URL is refused with what is wrong and what is allowed") {
  CHECK(has(refusal(""), "amqp://user:password@host:port/vhost"));
  CHECK(has(refusal("localhost:5672"), "amqp://"));
  CHECK(has(refusal("http://h"), "amqp://"));
  CHECK(has(refusal("amqpss://h"), "amqps://"));
  CHECK(has(refusal("amqp://ho%3Ast"), "host name"));
  CHECK(has(refusal("amqp://ho[st"), "host name"));
  CHECK(has(refusal("amqp://h:0"), "1 to 65535"));
  CHECK(has(refusal("amqp://h:65536"), "1 to 65535"));
  CHECK(has(refusal("amqp://h:"), "1 to 65535"));
  CHECK(has(refusal("amqp://h:-1"), "1 to 65535"));
  CHECK(has(refusal("amqp://h:56x"), "1 to 65535"));
  CHECK(has(refusal("amqp://h//"), "%2F"));
  CHECK(has(refusal("amqp://h/a/b"), "%2F"));
  CHECK(has(refusal("amqp://h/" + std::string(256, 'v')), "255"));
  CHECK(parse_url("amqp://h/" + std::string(255, 'v')).has_value());
  CHECK(has(refusal("amqp://h/%2"), "hexadecimal"));
  CHECK(has(refusal("amqp://u:%zz@h"), "password"));
  CHECK(has(refusal("amqp://u:a%00b@h"), "NUL"));
  CHECK(has(refusal("amqp://h/v\n"), "byte 11"));
  CHECK(has(refusal("\xEF\xBB\xBF"
                    "amqp://h"),
            "byte 1"));
  CHECK(has(refusal("amqp://h?heartbeat=5"), "'heartbeat'"));
  CHECK(has(refusal("amqp://h/v?x=1"), "'x'"));
  CHECK(has(refusal("amqp://h/v?"), "query"));
  CHECK(has(refusal("amqp://h/v#x"), "#"));
}

TEST_CASE("no error quotes any of a password, wherever its unencoded characters put it") {
  for (const std::string_view separator :
       {"@", ":", "/", "?", "#", " ", "/12", "?canary=1&x=", "%zz", "\x01"}) {
    const std::string text = "amqp://user:canary" + std::string(separator) + "canary@host:5672/v";
    CAPTURE(text);
    CHECK_FALSE(has(refusal(text), "canary"));
  }
  CHECK_FALSE(has(refusal("amqp://user:12/canary@host"), "canary"));
  CHECK_FALSE(has(refusal("canary"), "canary"));
}

TEST_CASE("a URL is shown without its password, and reads back to the same place") {
  const auto u = parse_url("amqp://us%40er:canary@[::1]:1/%2f");
  REQUIRE(u.has_value());
  CHECK(u->display() == "amqp://us%40er@[::1]:1/%2F");
  CHECK(parts(u->display()) == "us@er|guest|::1|1|/");
}

TEST_CASE("the zone of an IPv6 address is encoded where the URL is shown") {
  const auto u = parse_url("amqp://[fe80::1%25eth0]/");
  REQUIRE(u.has_value());
  CHECK(u->host == "fe80::1%eth0");
  CHECK(u->display() == "amqp://guest@[fe80::1%25eth0]:5672/%2F");
  CHECK(parts(u->display()) == "guest|guest|fe80::1%eth0|5672|/");
}

TEST_CASE("amqps:// is the same with TLS, on a port of its own") {
  const auto bare = parse_url("amqps://h");
  REQUIRE(bare);
  CHECK(bare->tls);
  CHECK(bare->port == 5671);
  CHECK(bare->display() == "amqps://guest@h:5671/%2F");
  CHECK(parse_url("AMQPS://u:p@h:5672/v")->port == 5672);
  CHECK_FALSE(parse_url("amqp://h")->tls);
  CHECK(parse_url("amqps://[::1]/v")->display() == "amqps://guest@[::1]:5671/v");
}

}  // namespace amqp_url_test
