// A claim that hangs longer than claim_timeout is freed by the server, and another relay goes on.
#include <doctest/doctest.h>

#include "load.hpp"
#include "stage.hpp"

namespace outboxd::test {
namespace {

const arguments short_claims{"--relay-claim-timeout", "2s", "--amqp-confirm-timeout", "1s",
                             "--relay-lanes",         "2",  "--relay-batch",          "50"};

constexpr auto claim_holders =
    "SELECT pid FROM pg_stat_activity WHERE datname = current_database()"
    " AND application_name = 'outboxd' AND state = 'idle in transaction'";

// Stops the relay in mid-batch, so that it sits on a claim; returns the sessions that hold it.
result_rows hang(relay& running, database& session) {
  const auto holders = eventually(
      "the relay is stopped while it holds a claim",
      [&]() -> std::optional<result_rows> {
        running.send(SIGSTOP);
        // What it had sent before is done soon; only a claim that stays is held by a process that hangs.
        try {
          eventually(
              "the claim is gone", [&] { return session.exec(claim_holders).empty(); }, 200ms);
        } catch (const deadline_passed&) {
          return session.exec(claim_holders);
        }
        running.send(SIGCONT);
        return std::nullopt;
      },
      patience);
  return *holders;
}

void await_gone(const result_rows& sessions, database& session) {
  const auto gone = [&session](const cells& one) {
    return session.exec("SELECT FROM pg_stat_activity WHERE pid = $1", {one[0]}).empty();
  };
  for (const auto& one : sessions)
    eventually(
        "the server has ended the session that held the claim", [&] { return gone(one); }, patience);
}

}  // namespace

TEST_CASE("a claim of a relay that hangs is freed by the server and the relay comes back") {
  const stage on;
  auto session = on.connect();
  on.add_events(400, 40);
  load writers{on};
  relay first{on, short_claims};
  on.await_published(500);
  hang(first, session);
  REQUIRE(on.count("pending") > 1000);
  const auto from = first.lines().size();

  relay second{on, short_claims};
  second.await_connected();
  writers.stop();
  on.await_drained();  // also what the first one had claimed
  first.send(SIGCONT);
  first.wait_line("PostgreSQL: ", patience, from);  // its claim is gone, and it says so
  first.wait_line("connected to PostgreSQL", patience, from);
  second.stop();

  on.add_events(1, 10);  // for the first one alone
  const auto report = on.check_all();
  CHECK_MESSAGE(report.sound(), report.words());
  CHECK_MESSAGE(report.duplicates <= 2 * 50, report.words());
  first.stop();
}

TEST_CASE("a relay that hangs and wakes up in the middle of another one's work disturbs no order") {
  const stage on;
  auto session = on.connect();
  on.add_events(500, 40);
  relay first{on, short_claims};
  on.await_published(500);
  const auto holders = hang(first, session);
  relay second{on, {"--relay-lanes", "1", "--relay-batch", "20"}};
  await_gone(holders, session);
  first.send(SIGCONT);
  const auto report = on.check_all();
  CHECK_MESSAGE(report.sound(), report.words());
  first.stop();
  second.stop();
}

}  // namespace outboxd::test
