// relay_token_life_test: which passwords are tokens, when they end, and when the next one is asked for.
#include <doctest/doctest.h>

#include <string>

#include "core/base64.hpp"
#include "relay/token_life.hpp"

namespace relay_token_life_test {

using namespace outboxd::relay;
using namespace std::chrono_literals;

namespace {

constexpr wall_time now(std::chrono::seconds(1'800'000'000));

std::string base64url(std::string_view text) {
  std::string out;
  outboxd::append_base64(out, text);
  for (char& one : out) one = one == '+' ? '-' : one == '/' ? '_' : one;
  out.erase(out.find_last_not_of('=') + 1);
  return out;
}

std::string token(std::string_view claims) {
  return base64url(R"({"alg":"HS256"})") + "." + base64url(claims) + ".c2lnbmF0dXJl";
}

}  // namespace

TEST_CASE("a JSON Web Token ends when its claim exp says so") {
  CHECK(end_of_token(token(R"({"exp":1800000000})")) == now);
  CHECK(end_of_token(token(R"({"aud":["a"],"exp":1800000000.75,"scope":"b"})")) == now);
  // Whatever the length of its claims: three bytes are four digits.
  for (const char* const padding : {"", "x", "xx", "xxx"})
    CHECK(end_of_token(token(std::string(R"({"sub":")") + padding + R"(","exp":1800000000})")) == now);
  // In base64, these claims would have a slash and a plus.
  CHECK(end_of_token(token("{\"sub\":\"\u00bf\u00bf\u00be\u00be>>???~~~\",\"exp\":1800000000}")) == now);
}

TEST_CASE("other passwords have no end") {
  const auto whole = token(R"({"exp":1800000000})");
  const auto first = whole.substr(0, whole.find('.'));
  for (const std::string& one : {std::string(),
                                 std::string("guest"),
                                 std::string("."),
                                 std::string(".."),
                                 std::string("a.b.c"),
                                 whole + ".x",
                                 whole.substr(0, whole.rfind('.')),
                                 first,
                                 whole.substr(first.size() + 1),
                                 "*" + whole.substr(0, first.size()) + ".*" + whole.substr(first.size() + 1),
                                 token("{}"),
                                 token("[]"),
                                 token("null"),
                                 token(R"({"exp":"1800000000"})"),
                                 token(R"({"exp":null})"),
                                 token(R"({"exp":0})"),
                                 token(R"({"exp":-5})"),
                                 token(R"({"exp":1e300})"),
                                 token(R"({"exp":99999999999})"),
                                 token(R"({"exp":1800000000)"),
                                 token(std::string(100'000, '['))}) {
    CAPTURE(one.substr(0, 200));
    CHECK_FALSE(end_of_token(one).has_value());
  }
}

TEST_CASE("the next token is asked for a minute before the end, or after two thirds of a short life") {
  CHECK(renewal_of(now, now + 24h) == now + 24h - 60s);
  CHECK(renewal_of(now, now + 1h) == now + 59min);
  CHECK(renewal_of(now, now + 180s) == now + 120s);
  CHECK(renewal_of(now, now + 60s) == now + 40s);
  CHECK(renewal_of(now, now + 3s) == now + 2s);
  // One that has ended: at once.
  CHECK(renewal_of(now, now) == now);
  CHECK(renewal_of(now, now - 1h) <= now);
}

}  // namespace relay_token_life_test
