// http_url_test: URLs of HTTP servers as people write them, and what a mistyped one may reveal.
#include <doctest/doctest.h>

#include "http/url.hpp"

namespace http_url_test {

using namespace outboxd::http;

TEST_CASE("a URL has a login, a host, a port and a path, and shows all but the login") {
  const auto full = parse_url("http://us%3Cer:p%40ss@broker.example:8080/behind/proxy/", 1, 2);
  REQUIRE(full.has_value());
  REQUIRE(full->login.has_value());
  CHECK(full->login->user == "us<er");
  CHECK(full->login->password == "p@ss");
  CHECK(full->path == "/behind/proxy");
  CHECK(full->display() == "http://broker.example:8080/behind/proxy");
  const auto bare = parse_url("http://h", 15672, 15671);
  REQUIRE(bare.has_value());
  CHECK_FALSE(bare->login.has_value());
  CHECK(bare->display() == "http://h:15672");
  const auto ipv6 = parse_url("http://u@[::1]", 7, 8);
  REQUIRE(ipv6.has_value());
  CHECK(ipv6->login->password.empty());
  CHECK(ipv6->host == "::1");
  CHECK(ipv6->display() == "http://[::1]:7");
  CHECK_FALSE(ipv6->tls);
  const auto secure = parse_url("https://u:p@h/x", 7, 8);
  REQUIRE(secure.has_value());
  CHECK(secure->tls);
  CHECK(secure->display() == "https://h:8/x");
}

TEST_CASE("a URL that is none is refused in words that quote nothing of it") {
  for (const char* text : {"",
                           "canary",
                           "http://",
                           "https://u:canary@h?",
                           "ftp://canary",
                           "http://canary:canary@h@h",
                           "http://u:can/canary@h",
                           "http://u:canary:x@h",
                           "http://u:canary%4@h",
                           "http://u:canary@h:0",
                           "http://u:canary@h:65536",
                           "http://u:canary@h:1x",
                           "http://u:canary@",
                           "http://u:canary@[::1",
                           "http://u:canary@[canary]",
                           "http://u:canary@::1",
                           "http://u:canary@h?canary",
                           "http://u:canary@h#c",
                           "http://u:canary@h /",
                           "http://u:canary@h\r\nX: y",
                           "http://a%3Ab:canary@h",
                           "http://u:canary@:1"}) {
    CAPTURE(text);
    const auto parsed = parse_url(text, 1, 2);
    REQUIRE_FALSE(parsed.has_value());
    CHECK(parsed.error().message.find("canary") == std::string::npos);
    CHECK_FALSE(parsed.error().message.empty());
  }
}

TEST_CASE("the Authorization header is Basic, with base64 of every length") {
  CHECK(basic_authorization({"Aladdin", "open sesame"}) == "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
  CHECK(basic_authorization({"", ""}) == "Basic Og==");
  CHECK(basic_authorization({"a", ""}) == "Basic YTo=");
  CHECK(basic_authorization({"a", "b"}) == "Basic YTpi");
  CHECK(basic_authorization({"\xFF\xFE", "\xFD"}) == "Basic //46/Q==");
}

}  // namespace http_url_test
