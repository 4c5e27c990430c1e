// app_check_judges_test: what check makes of clocks, transports and old snapshots.
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

TEST_CASE("who has held back vacuum for more than an hour is named, with how to end it") {
  CHECK_FALSE(judge_snapshots({}).has_value());
  snapshot_holders held;
  held.open = {1h, "4711", "shop", "psql"};
  held.prepared = {1h, "'gid''s'"};
  CHECK_FALSE(judge_snapshots(held).has_value());

  held.open->age += 1s;
  const auto session = judge_snapshots(held);
  REQUIRE(session.has_value());
  CHECK(session->how == verdict::warning);
  CHECK(has(session->words, "pid 4711 (user shop, application psql) has been in a transaction for 60 min"));
  CHECK(session->remedy == "SELECT pg_terminate_backend(4711);");

  held.prepared->age = 2h;
  const auto prepared = judge_snapshots(held);
  REQUIRE(prepared.has_value());
  CHECK(has(prepared->words, "transaction 'gid''s' was prepared 120 min ago"));
  CHECK(prepared->remedy == "ROLLBACK PREPARED 'gid''s';");

  snapshot_holders slots;
  slots.slot = {"12", "'old_standby'"};
  const auto slot = judge_snapshots(slots);
  REQUIRE(slot.has_value());
  CHECK(slot->how == verdict::warning);
  CHECK(slot->remedy == "SELECT pg_drop_replication_slot('old_standby');");
}

}  // namespace app_check_judges_test
