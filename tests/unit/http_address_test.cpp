// http_address_test: addresses to listen on, as people write them.
#include <doctest/doctest.h>

#include "http/address.hpp"

namespace http_address_test {

using namespace outboxd::http;

namespace {

std::string shown(std::string_view text) {
  const auto parsed = parse_addresses(text);
  if (!parsed) return "refused: " + parsed.error().message;
  std::string out;
  for (const auto& one : *parsed) out += (out.empty() ? "" : " ") + url_of(one);
  return out;
}

bool is_refused(std::string_view text) {
  return !parse_addresses(text).has_value();
}

}  // namespace

TEST_CASE("an address to listen on is an IP address with a port, or a Unix socket's path") {
  CHECK(shown("127.0.0.1:9464") == "http://127.0.0.1:9464");
  CHECK(shown("[::1]:9464") == "http://[::1]:9464");
  CHECK(shown("localhost:9464") == "http://127.0.0.1:9464");
  CHECK(shown(":9464") == "http://*:9464");
  CHECK(shown("0.0.0.0:0") == "http://0.0.0.0:0");
  CHECK(shown("unix:/run/outboxd/http.sock") == "unix:/run/outboxd/http.sock");
}

TEST_CASE("several addresses are a list, and off is none") {
  CHECK(shown("127.0.0.1:9464, unix:/a.sock,[::1]:1") == "http://127.0.0.1:9464 unix:/a.sock http://[::1]:1");
  CHECK(shown("off").empty());
  CHECK(shown(" off ").empty());
  CHECK(shown("127.0.0.1:0,127.0.0.1:0") == "http://127.0.0.1:0 http://127.0.0.1:0");
}

TEST_CASE("what is no address is refused") {
  for (const auto* wrong : {"",
                            ",",
                            "127.0.0.1:9464,",
                            "off,127.0.0.1:1",
                            "127.0.0.1:1,off",
                            "9464",
                            "127.0.0.1",
                            "127.0.0.1:",
                            "127.0.0.1:65536",
                            "127.0.0.1:-1",
                            "127.0.0.1:+1",
                            "127.0.0.1:80x",
                            "127.0.0.1: 80",
                            "256.0.0.1:80",
                            "example.org:80",
                            "::1:9464",
                            "[::1]",
                            "[127.0.0.1]:80",
                            "[::1:80",
                            "http://127.0.0.1:80",
                            "unix:",
                            "unix:relative",
                            "unix:/run/",
                            "unix:@abstract",
                            "127.0.0.1:80,localhost:80",
                            "unix:/a,unix:/a"}) {
    CAPTURE(wrong);
    CHECK(is_refused(wrong));
  }
  CHECK(is_refused(std::string("127.0.0.1\0:80", 13)));
}

TEST_CASE("the path of a Unix socket has the kernel's length at most") {
  const std::string longest = "unix:/" + std::string(106, 'a');
  CHECK(shown(longest) == longest);
  CHECK(shown(longest + "a").find("at most 107 bytes") != std::string::npos);
}

}  // namespace http_address_test
