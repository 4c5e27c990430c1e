// A pooler between the relay and PostgreSQL: in session mode it is as good as none, elsewhere it is refused
// in words.
#include "pooler.hpp"

#include <doctest/doctest.h>
#include <fmt/ranges.h>

#include "load.hpp"

namespace outboxd::test::pooler_test {
namespace {

environment through(const pooler& pool, const stage& on) {
  return {{"OUTBOXD_DATABASE_URL", pool.url(on)}};
}

// With an exit code of 1, and nothing relayed.
void check_refused(const std::string& mode, const std::string& words) {
  CAPTURE(mode);
  const stage on;
  on.add_events(3);
  pooler pool{mode};
  for (int i = 0; i < 5; ++i) {  // whichever of its sessions it hands out
    relay refused{on, {}, through(pool, on)};
    const auto status = refused.wait(time_limit);
    const auto text = fmt::format("{}", fmt::join(refused.all_lines(), "\n"));
    CHECK_MESSAGE(status.code == 1, text);
    CHECK_MESSAGE(text.find(words) != std::string::npos, text);
    for (const auto* named : {"transaction mode", "statement mode"})  // it cannot know which
      CHECK_MESSAGE(text.find(named) == std::string::npos, text);
  }
  CHECK(on.count("pending") == 3);
  CHECK(on.shards_led() == 0);
}

}  // namespace

TEST_CASE("a pooler in transaction mode is refused, and session mode named") {
  check_refused("transaction", "in session mode");
}

TEST_CASE("a pooler in statement mode is refused, and session mode named") {
  check_refused("statement", "in session mode");
}

// The first command leaves its selection in the session that the second one gets.
TEST_CASE("an operator's command through a pooler that shares sessions names session mode, and no other") {
  for (const auto* mode : {"transaction", "statement"}) {
    CAPTURE(mode);
    const stage on;
    const pooler pool{mode};
    run_outboxd({"replay", "--all"}, through(pool, on));
    const auto second = run_outboxd({"replay", "--all"}, through(pool, on));
    CHECK(second.exited(1));
    CHECK_MESSAGE(second.says("in session mode"), second.text());
    CHECK_FALSE(second.says("transaction mode"));
  }
}

TEST_CASE(
    "through a pooler in session mode the leader sleeps, hears, and takes over from one that is killed") {
  const stage on;
  pooler pool{"session"};
  relay running{on, no_sweep, through(pool, on)};
  on.await_asleep();
  for (int i = 0; i < 10; ++i) {
    on.add_events(1, 3);
    on.await_published(3 * (i + 1));
  }
  relay other{on, no_sweep, through(pool, on)};
  other.await_connected();
  load writers{on};
  on.await_published(300);
  running.send(SIGKILL);
  other.wait_line("leads shard 0 of 1", time_limit);
  on.await_published(on.count("published") + 300);
  writers.stop();
  const auto report = on.check_all();
  CHECK_MESSAGE(report.sound(), report.words());
  other.stop();
  eventually("no lock is left", [&] { return on.shards_led() == 0; });
}

TEST_CASE("the relay leaves nothing of its own in the sessions of a pool") {
  const stage on;
  pooler pool{"session"};
  relay running{on, {}, through(pool, on)};
  on.await_asleep();
  on.add_events(2, 50);
  on.await_drained();
  running.stop();
  std::vector<database> clients;
  for (int i = 0; i < 3; ++i) {
    auto& client = clients.emplace_back(pool.url(on));
    for (const auto* setting : {"synchronous_commit", "enable_seqscan", "row_security"}) {
      CAPTURE(setting);
      CHECK(client.value(fmt::format("SHOW {}", setting)) == "on");
    }
    CHECK(client.number("SELECT count(*) FROM pg_prepared_statements") == 0);
    CHECK(client.number("SELECT count(*) FROM pg_listening_channels() AS c WHERE c = 'outbox'") == 0);
  }
  CHECK(on.shards_led() == 0);
}

}  // namespace outboxd::test::pooler_test
