// What the check of a cluster's run has to find, it finds.
#include "verdict.hpp"

#include <doctest/doctest.h>

namespace outboxd::cluster::verdict_test {
namespace {

constexpr int old_port = 1;
constexpr int new_port = 2;

test::committed_event row(const std::string& id) {
  test::committed_event out;
  out.id = id;
  out.status = "published";
  out.headers = "{}";
  return out;
}

written transaction(const std::string& id, int port, std::int64_t after, std::int64_t before) {
  written out;
  out.ids = {id};
  out.port = port;
  out.acknowledged = true;
  out.after = after;
  out.before = before;
  return out;
}

// Of all that is wrong the parts that are not about deliveries: nothing has been delivered here.
bool says(const verdict& of, const std::string& words) {
  for (const auto& one : of.wrong)
    if (one.find(words) != std::string::npos) return true;
  return false;
}

}  // namespace

TEST_CASE("a commit that is not in the table is lost, unless nobody has acknowledged it") {
  const test::history none;
  auto one = transaction("a", old_port, 10, 20);
  CHECK(says(judge({one}, {}, none, {}), "1 events were committed and are not in the table"));
  one.acknowledged = false;
  CHECK(judge({one}, {}, none, {}).wrong.empty());
}

TEST_CASE("a transaction is there as a whole or not at all") {
  const test::history none;
  auto one = transaction("a", old_port, 10, 20);
  one.ids.emplace_back("b");
  CHECK(says(judge({one}, {row("a")}, none, {}), "1 transactions are there in part"));
}

TEST_CASE("what was committed and never delivered is lost") {
  const test::history none;
  CHECK(says(judge({transaction("a", old_port, 10, 20)}, {row("a")}, none, {}), "1 lost"));
}

TEST_CASE("after a failover exactly that is missing which the standby never got") {
  const test::history none;
  const failover change{.old_port = old_port, .synchronous = false, .held_back = true, .standby_got_to = 100};
  const auto got = transaction("a", old_port, 80, 100);
  const auto never_got = transaction("b", old_port, 101, 120);
  auto last = transaction("d", old_port, 90, 95);
  last.before.reset();
  const auto later = transaction("c", new_port, 110, 130);
  CHECK(judge({never_got}, {}, none, change).wrong.empty());
  CHECK(judge({never_got}, {}, none, change).missing == 1);
  CHECK(judge({last, never_got}, {}, none, change).wrong.empty());
  CHECK(says(judge({got, never_got}, {}, none, change), "1 events were committed"));
  CHECK(says(judge({later, never_got}, {}, none, change), "1 events were committed"));
  CHECK(
      says(judge({never_got}, {row("b")}, none, change), "1 events are in the table of a server that never"));
  CHECK(says(judge({got}, {row("a")}, none, change), "this proves nothing"));
}

TEST_CASE("with synchronous replication nothing that was acknowledged is missing") {
  const test::history none;
  const failover change{.old_port = old_port, .synchronous = true, .held_back = false, .standby_got_to = 100};
  CHECK(says(judge({transaction("b", old_port, 101, 120)}, {}, none, change), "1 events were committed"));
}

}  // namespace outboxd::cluster::verdict_test
