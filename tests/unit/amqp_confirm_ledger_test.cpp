// amqp_confirm_ledger_test: every way in which a broker may answer publishes, and may not.
#include <doctest/doctest.h>

#include <string>

#include "amqp/confirm_ledger.hpp"

namespace amqp_confirm_ledger_test {

using namespace outboxd::amqp;

namespace {

// The caller's token of the n-th publish is 100 + n, its message id "m<n>".
struct script {
  confirm_ledger ledger;
  std::vector<outcome> outcomes;

  explicit script(int publishes) {
    for (int n = 1; n <= publishes; ++n) ledger.sent(static_cast<token>(100 + n), "m" + std::to_string(n));
  }
  // The outcomes since the last call, such as "101+ 102- 103(312 NO_ROUTE)"; or the error.
  std::string after(const outboxd::result<void>& step) {
    if (!step) return "error: " + step.error().message;
    std::string out;
    for (const auto& o : outcomes) {
      out += (out.empty() ? "" : " ") + std::to_string(o.id);
      out += o.what == verdict::acked ? "+" : o.what == verdict::nacked ? "-" : "(" + o.reason + ")";
    }
    outcomes.clear();
    return out;
  }
  std::string ack(std::uint64_t tag, bool multiple = false) {
    return after(ledger.ack(tag, multiple, outcomes));
  }
  std::string nack(std::uint64_t tag, bool multiple = false) {
    return after(ledger.nack(tag, multiple, outcomes));
  }
  std::string returned(std::string_view id) { return after(ledger.returned(id, "312 NO_ROUTE")); }
};

bool refused(const std::string& answer) {
  return answer.starts_with("error: ");
}

}  // namespace

TEST_CASE("single acks settle their own publish in any order") {
  script s(3);
  CHECK(s.ack(2) == "102+");
  CHECK(s.ledger.open() == 2);
  CHECK(s.ledger.span() == 3);
  CHECK(s.ack(1) == "101+");
  CHECK(s.ledger.span() == 1);
  CHECK(s.ack(3) == "103+");
  CHECK(s.ledger.open() == 0);
  CHECK(s.ledger.span() == 0);
}

TEST_CASE("a multiple ack settles everything open up to its tag") {
  script s(5);
  CHECK(s.ack(2) == "102+");
  CHECK(s.ack(4, true) == "101+ 103+ 104+");
  CHECK(s.ack(5, true) == "105+");
}

TEST_CASE("a multiple ack whose own tag is settled still settles those before it") {
  script s(3);
  CHECK(s.ack(3) == "103+");
  CHECK(s.ack(3, true) == "101+ 102+");
}

TEST_CASE("a multiple confirm of tag 0 settles everything open") {
  script s(3);
  CHECK(s.nack(2) == "102-");
  CHECK(s.ack(0, true) == "101+ 103+");
  CHECK(s.ack(0, true) == "");
}

TEST_CASE("nacks settle as nacked, single and multiple") {
  script s(4);
  CHECK(s.nack(3) == "103-");
  CHECK(s.nack(2, true) == "101- 102-");
  CHECK(s.nack(0, true) == "104-");
}

TEST_CASE("a message that was returned and then acked is returned, and settled only by the ack") {
  script s(3);
  CHECK(s.returned("m2") == "");
  CHECK(s.ledger.open() == 3);
  CHECK(s.ack(3, true) == "101+ 102(312 NO_ROUTE) 103+");
}

TEST_CASE("returns are matched by message id in any order") {
  script s(4);
  CHECK(s.returned("m4") == "");
  CHECK(s.returned("m1") == "");
  CHECK(s.returned("m3") == "");
  CHECK(s.ack(0, true) == "101(312 NO_ROUTE) 102+ 103(312 NO_ROUTE) 104(312 NO_ROUTE)");
}

TEST_CASE("a message published again after its return is a publish of its own") {
  script s(1);
  CHECK(s.returned("m1") == "");
  s.ledger.sent(201, "m1");
  CHECK(s.ack(2, true) == "101(312 NO_ROUTE) 201+");
}

TEST_CASE("a return of an unknown, settled or already returned message is a protocol error") {
  script s(2);
  CHECK(refused(s.returned("other")));
  CHECK(refused(s.returned("")));
  CHECK(s.returned("m1") == "");
  CHECK(refused(s.returned("m1")));
  CHECK(s.ack(1) == "101(312 NO_ROUTE)");
  CHECK(refused(s.returned("m1")));
}

TEST_CASE("tags that were never given are a protocol error and settle nothing") {
  script s(2);
  CHECK(refused(s.ack(3)));
  CHECK(refused(s.ack(3, true)));
  CHECK(refused(s.nack(0xFFFFFFFFFFFFFFFFULL, true)));
  CHECK(refused(s.ack(0)));
  CHECK(refused(s.nack(0)));
  CHECK(s.ledger.open() == 2);
  script none(0);
  CHECK(refused(none.ack(1)));
  CHECK(refused(none.ack(1, true)));
}

TEST_CASE("a repeated confirm is a protocol error") {
  script s(4);
  CHECK(s.ack(3) == "103+");
  CHECK(refused(s.ack(3)));
  CHECK(refused(s.nack(3)));
  CHECK(s.ack(1, true) == "101+");
  CHECK(refused(s.ack(1)));
  CHECK(refused(s.ack(1, true)));
  CHECK(s.ledger.open() == 2);
}

TEST_CASE("closing hands back every open token, oldest first, and leaves nothing open") {
  script s(5);
  CHECK(s.ack(2) == "102+");
  CHECK(s.returned("m4") == "");
  CHECK(s.ledger.close() == std::vector<token>{101, 103, 104, 105});
  CHECK(s.ledger.open() == 0);
  CHECK(s.ledger.close().empty());
}

TEST_CASE("a million publishes through a window keep their tokens") {
  confirm_ledger ledger;
  std::vector<outcome> out;
  std::uint64_t sent = 0;
  std::uint64_t settled = 0;
  const std::string id = "00000000-0000-4000-8000-000000000000";
  while (settled < 1'000'000) {
    while (sent - settled < 3000) ledger.sent(1000 + ++sent, id);
    out.clear();
    REQUIRE(ledger.ack(settled + 2000, true, out).has_value());
    for (const auto& o : out)
      if (o.id != 1000 + ++settled) FAIL("token out of order");
  }
  CHECK(ledger.open() == sent - settled);
}

TEST_CASE("a slot that held a returned message forgets it") {
  confirm_ledger ledger;
  std::vector<outcome> out;
  for (std::uint64_t n = 1; n <= 1000; ++n) {
    ledger.sent(n, "m");
    if (n % 2 == 0) REQUIRE(ledger.returned("m", "312 NO_ROUTE").has_value());
    out.clear();
    REQUIRE(ledger.ack(n, false, out).has_value());
    REQUIRE(out.size() == 1);
    CHECK(out[0].what == (n % 2 == 0 ? verdict::returned : verdict::acked));
    CHECK(out[0].reason == (n % 2 == 0 ? "312 NO_ROUTE" : ""));
  }
}

TEST_CASE(
    "publishes that are never confirmed take up a place each, however many others are settled after them") {
  constexpr int many = 3 * static_cast<int>(confirm_ledger::longest_ring);
  script s(3);
  for (int n = 4; n <= many; ++n) {
    s.ledger.sent(static_cast<token>(100 + n), "m" + std::to_string(n));
    CHECK(s.ack(static_cast<std::uint64_t>(n)) == std::to_string(100 + n) + "+");
    REQUIRE(s.ledger.span() <= confirm_ledger::longest_ring);
  }
  CHECK(s.ledger.open() == 3);
  SUBCASE("they are settled one by one") {
    CHECK(s.ack(2) == "102+");
    CHECK(refused(s.ack(2)));
    CHECK(s.returned("m1").empty());
    CHECK(refused(s.returned("m1")));
    CHECK(s.ack(1) == "101(312 NO_ROUTE)");
    CHECK(s.nack(3) == "103-");
  }
  SUBCASE("they are settled together, with those that came later") {
    s.ledger.sent(1, "late");
    CHECK(s.ack(2, true) == "101+ 102+");
    CHECK(s.ack(0, true) == "103+ 1+");
    CHECK(s.ack(0, true).empty());
  }
  SUBCASE("what becomes of them is unknown when the channel ends") {
    s.ledger.sent(1, "late");
    CHECK(s.ledger.close() == std::vector<token>{101, 102, 103, 1});
  }
  CHECK(s.ledger.open() == 0);
  CHECK(s.ledger.close().empty());
  s.ledger.sent(7, "next");
  CHECK(s.ack(0, true) == "7+");
}

}  // namespace amqp_confirm_ledger_test
