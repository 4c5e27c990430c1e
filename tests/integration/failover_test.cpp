// A primary and its standby: the relay finds the one that takes writes, and comes back after a failover.
#include <doctest/doctest.h>

#include "load.hpp"
#include "postgres_node.hpp"

namespace outboxd::test::failover_test {
namespace {

constexpr auto writable = "?target_session_attrs=read-write";

// Both servers, and an outbox on whichever is the primary.
struct cluster {
  postgres_node primary;
  postgres_node standby{primary};
  stage on{{.server_url = url_of({&primary, &standby}, "postgres") + writable}};

  environment reach(const std::vector<const postgres_node*>& nodes) const {
    return {{"OUTBOXD_DATABASE_URL", url_of(nodes, on.database_name())}};
  }
  // What was committed before is on the standby, too.
  void await_replicated() {
    auto session = primary.connect();
    eventually(
        "the standby has everything",
        [&] {
          return session.value(
                     "SELECT coalesce(bool_and(replay_lsn >= pg_current_wal_lsn()), false)"
                     " FROM pg_stat_replication") == "t";
        },
        time_limit);
  }
  // From here on no commit is acknowledged, or seen by others, before the standby has it.
  void make_synchronous() {
    auto session = primary.connect();
    session.exec("ALTER SYSTEM SET synchronous_standby_names = '*'");
    session.exec("SELECT pg_reload_conf()");
    eventually(
        "the standby is synchronous",
        [&] {
          return session.number("SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'") == 1;
        },
        time_limit);
  }
};

}  // namespace

TEST_CASE("after a failover the relay comes back on the new primary by itself and loses nothing") {
  cluster servers;
  servers.make_synchronous();
  // The standby comes first in the list: it has to be passed over.
  relay running{servers.on, {"--relay-batch", "100"}, servers.reach({&servers.standby, &servers.primary})};
  running.await_connected();
  load writers{servers.on};
  servers.on.await_published(300);
  const auto from = running.lines().size();
  servers.primary.kill();
  running.wait_line("session is read-only", time_limit, from);
  servers.standby.promote();
  running.wait_line("connected to PostgreSQL", time_limit, from);
  servers.on.await_published(servers.on.count("published") + 300);
  writers.stop();
  const auto report = servers.on.check_all();
  CHECK_MESSAGE(report.sound(), report.words());
  CHECK(report.dead == 0);
  CHECK(servers.on.connect().number("SELECT count(*) FROM outbox.event WHERE attempts > 0") == 0);
  running.stop();
}

TEST_CASE("a relay on a standby says so, publishes nothing, and begins when it is promoted") {
  cluster servers;
  servers.on.add_events(20, 5);
  servers.await_replicated();
  relay running{servers.on, {}, servers.reach({&servers.standby})};
  running.wait_line("is a standby (read-only)", time_limit);
  running.wait_line("target_session_attrs", time_limit);
  CHECK(running.running());
  CHECK(servers.on.count("pending") == 100);
  servers.primary.kill();
  servers.standby.promote();
  running.await_connected();
  const auto report = servers.on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  running.stop();
}

namespace {

// A server of its own, whose settings may be changed.
struct whole_server {
  postgres_node server;
  stage on{{.server_url = server.url()}};
  database session = on.connect();

  void set_read_only(const std::string& value) {
    session.exec("ALTER SYSTEM SET default_transaction_read_only = " + value);
    session.exec("SELECT pg_reload_conf()");
    // Somebody writes all the same.
    session.exec("SET transaction_read_only = off; SET default_transaction_read_only = off");
  }
  void check_exact() const {
    const auto report = on.check_all(2 * time_limit);
    CHECK_MESSAGE(report.exact(), report.words());
    CHECK(on.connect().number("SELECT count(*) FROM outbox.event WHERE attempts > 0") == 0);
  }
};

constexpr auto says_read_only = "is read-only (default_transaction_read_only)";

}  // namespace

TEST_CASE("a server that becomes read-only is left alone until it takes writes again") {
  whole_server its;
  relay running{its.on, {"--relay-sweep-interval", "50ms"}};
  running.await_connected();
  its.on.add_events(10, 10);
  its.on.await_drained();
  const auto from = running.lines().size();
  its.set_read_only("on");
  running.wait_line(says_read_only, time_limit, from);
  its.session.exec(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload)"
      " SELECT 'order', n, $1, '{}' FROM generate_series(1, 10) AS n",
      {its.on.key()});
  const auto quiet = running.lines().size();
  eventually(
      "nobody leads", [&] { return its.on.shards_led() == 0; }, time_limit);
  its.set_read_only("off");
  running.wait_line("connected to PostgreSQL", time_limit, quiet);
  its.check_exact();
  running.stop();
}

TEST_CASE("a server that becomes read-only in the middle of a drain has nothing published twice") {
  whole_server its;
  relay running{its.on, {"--relay-batch", "50"}};
  running.await_connected();
  for (int i = 1; i <= 5; ++i) {
    const auto published = its.on.count("published");
    its.on.add_events(80, 100);
    its.on.await_published(published + 300);
    const auto from = running.lines().size();
    its.set_read_only("on");
    running.wait_line(says_read_only, time_limit, from);
    its.set_read_only("off");
    running.wait_line("connected to PostgreSQL", time_limit, from);
  }
  its.check_exact();
  running.stop();
}

namespace {

// Commits wait for a standby that is not there, for as long as this lives.
struct missing_standby {
  database session;

  explicit missing_standby(const stage& on) : session{on.connect()} {
    session.exec("SET synchronous_commit = local");
    set("SET synchronous_standby_names = 'nobody'");
    eventually(
        "commits wait for it",
        [&] {
          return session.value("SELECT setting FROM pg_settings WHERE name = 'synchronous_standby_names'") ==
                 "nobody";
        },
        time_limit);
  }
  ~missing_standby() { set("RESET synchronous_standby_names"); }
  missing_standby(const missing_standby&) = delete;
  missing_standby& operator=(const missing_standby&) = delete;

  void set(const std::string& what) {
    session.exec("ALTER SYSTEM " + what);
    session.exec("SELECT pg_reload_conf()");
  }
};

}  // namespace

// All commits of a server that notify take turns by one lock, which they hold until they are durable.
TEST_CASE("somebody's commit that notifies and never ends takes the lead from nobody") {
  whole_server its;
  database notifier = its.on.connect();
  const missing_standby none{its.on};
  its.session.exec("SET synchronous_commit = local");
  // A commit that has written nothing would not wait. Nor does one before the checkpointer has read the
  // setting, so another one follows it.
  const auto commit = [&] {
    REQUIRE(PQsendQuery(
                notifier.handle(),
                "BEGIN; SELECT pg_logical_emit_message(true, 'somebody', ''); NOTIFY somebody; COMMIT") == 1);
  };
  commit();
  eventually(
      "it waits",
      [&] {
        REQUIRE(PQconsumeInput(notifier.handle()) == 1);
        while (PQisBusy(notifier.handle()) == 0) {
          PGresult* const result = PQgetResult(notifier.handle());
          if (result == nullptr) commit();
          PQclear(result);
        }
        // A worker of autovacuum may wait, too.
        return its.session.value("SELECT coalesce(wait_event, '') FROM pg_stat_activity WHERE pid = $1",
                                 {std::to_string(notifier.backend_pid())}) == "SyncRep";
      },
      time_limit);
  relay running{its.on, {"--relay-sweep-interval", "50ms"}};
  running.await_connected();
  its.session.exec(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload)"
      " SELECT 'order', n, $1, '{}' FROM generate_series(1, 10) AS n",
      {its.on.key()});
  its.on.await_drained();
  its.check_exact();
  CHECK(its.on.shards_led() == 1);
  running.stop();
}

}  // namespace outboxd::test::failover_test
