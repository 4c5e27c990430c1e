// app_check_judges_test: what check makes of clocks and transports.
#include <doctest/doctest.h>

#include "app/check/checks.hpp"

namespace app_check_judges_test {

using namespace outboxd::app::check;
using namespace std::chrono_literals;

namespace {

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a clock that is off by more than a second and the doubt is a warning, either way") {
  for (const double offset : {0.0, 1.0, -1.0, 1.4, -1.4})
    CHECK(judge_clock(offset * 1s, 0.5s).how == verdict::ok);
  for (const double offset : {1.6, -1.6, 86400.0}) {
    const auto found = judge_clock(offset * 1s, 0.5s);
    CHECK(found.how == verdict::warning);
    CHECK(has(found.remedy, "timedatectl set-ntp true"));
  }
  CHECK(has(judge_clock(-90.0 * 1s, 0s).words, "90.000 s behind this machine's"));
  CHECK(has(judge_clock(90.0 * 1s, 0s).words, "90.000 s ahead of this machine's"));
}

TEST_CASE("TLS to another machine has to be there and verified, and to this one it need not be") {
  constexpr auto far = "db.example:5432";
  CHECK(judge_transport(far, true, "verify-full").how == verdict::ok);
  for (const char* mode : {"require", "prefer", "verify-ca", ""}) {
    const auto found = judge_transport(far, true, mode);
    CHECK(found.how == verdict::warning);
    CHECK(has(found.words, "may be anybody"));
    CHECK(has(found.remedy, "sslmode=verify-full"));
  }
  const auto plain = judge_transport(far, false, "");
  CHECK(plain.how == verdict::warning);
  CHECK(has(plain.words, "no TLS to db.example:5432 (sslmode prefer)"));
  CHECK(has(plain.remedy, "sslmode=verify-full"));
  for (const char* near : {"127.0.0.1:5432", "localhost:5432", "::1:5432", "[::1]:5432", "/run/postgresql"})
    for (const bool encrypted : {false, true}) {
      CAPTURE(near);
      CHECK(judge_transport(near, encrypted, "prefer").how == verdict::ok);
    }
  for (const char* odd : {"localhost.example:5432", "128.0.0.1:5432"})
    CHECK(judge_transport(odd, false, "prefer").how == verdict::warning);
}

}  // namespace app_check_judges_test
