// retention: the relay that leads deletes what is old and done, and waits for nobody.
#include <doctest/doctest.h>

#include <set>

#include "asked_relay.hpp"
#include "login.hpp"
#include "old_rows.hpp"
#include "partitioned.hpp"
#include "settings_file.hpp"
#include "store/relay_statements.hpp"
#include "support/metrics_text.hpp"

namespace outboxd::test::retention_test {
namespace {

std::string pruned(const char* what) {
  return fmt::format("outboxd_pruned_total{{what=\"{}\"}}", what);
}
std::string last_prune(const char* what) {
  return fmt::format("outboxd_last_prune_timestamp_seconds{{what=\"{}\"}}", what);
}

void await_pruning(const asked_relay& of, const char* what = "published") {
  eventually(
      fmt::format("all {} that is old is deleted", what), [&] { return metric(of, last_prune(what)) > 0; },
      time_limit);
}

std::int64_t records(database& session) {
  return session.number("SELECT count(*) FROM outbox.processed_event");
}

constexpr auto off = "[retention]\npublished = 'never'\n";

// Makes the relay begin a run, with another retention of about seven days.
void begin_a_run(relay& running, const settings_file& file) {
  static int minutes = 7 * 24 * 60;
  const auto age = fmt::format("published = '{}m'", ++minutes);
  file.write("[retention]\n" + age + "\n");
  const auto from = running.lines().size();
  running.send(SIGHUP);
  running.wait_line("retention." + age, time_limit, from);
}

std::int64_t pruner_pid(database& session) {
  return session.number(
      "SELECT coalesce(max(pid), 0) FROM pg_stat_activity WHERE datname = current_database()"
      " AND query LIKE '-- Retention%'");
}

}  // namespace

TEST_CASE("retention deletes what was published too long ago, and never what is not published") {
  const unpartitioned_stage on;
  auto session = on.connect();
  add_old(session, on, "dead", "100 d", 3);
  add_old(session, on, "published", "8 d", 6'000);
  add_old(session, on, "waiting", "100 d", 2);
  add_old(session, on, "published", "6 d", 6'500);
  add_old(session, on, "published", "8 d", 4);  // behind young ones
  add_old(session, on, "published", "6 d", 3);
  asked_relay running{on};
  await_pruning(running);
  CHECK(on.count("dead") == 3);
  CHECK(on.count("waiting") == 2);
  CHECK(metric(running, pruned("published")) == 6'000);
  // Enough young ones in a row end it.
  CHECK(session.number("SELECT count(*) FROM outbox.event WHERE published_at < now() - interval '7 d'") == 4);
  CHECK(session.number("SELECT count(*) FROM outbox.event WHERE published_at > now() - interval '7 d'") ==
        6'503);
  running.wait_line("retention.published: 6000 rows deleted in ", time_limit);
  running.stop();
}

TEST_CASE("the statement of retention leaves what is pending, waiting, dead or young, whatever its age") {
  const unpartitioned_stage on;
  auto session = on.connect();
  for (const auto* status : {"pending", "waiting", "dead"}) add_old(session, on, status, "100 d", 2);
  add_old(session, on, "published", "8 d", 5);
  add_old(session, on, "published", "6 d", 2);
  session.exec(
      "UPDATE outbox.event SET created_at = now() - interval '100 d' WHERE published_at > now() - interval "
      "'7 "
      "d'");
  for (const auto& one : store::relay_statements(*pg::schema_name::parse("outbox"), payload_type::jsonb,
                                                 store::after_publish::keep))
    if (one.name == store::statement::prune) session.exec("PREPARE prune AS " + one.sql);
  const std::string week = "7 * 86400000::bigint";
  // deleted, looked at, last, last old one, young ones after it; kept, why, stopped early
  CHECK(session.exec(fmt::format("EXECUTE prune(0, {}, 8, 9223372036854775807)", week)) ==
        result_rows{{"2", "8", "8", "8", "0", "0", std::nullopt, "f"}});
  CHECK(session.exec(fmt::format("EXECUTE prune(8, {}, 8, 9223372036854775807)", week)) ==
        result_rows{{"3", "5", "13", "13", "0", "0", std::nullopt, "f"}});
  CHECK(session.exec(fmt::format("EXECUTE prune(13, {}, 8, 9223372036854775807)", week)) ==
        result_rows{{"0", "0", std::nullopt, std::nullopt, "0", "0", std::nullopt, "f"}});
  CHECK(session.number("SELECT count(*) FROM outbox.event") == 8);
  session.exec("UPDATE outbox.event SET created_at = now() WHERE seq > 11");
  CHECK(session.exec(fmt::format("EXECUTE prune(0, {}, 8, 9223372036854775807)", week)) ==
        result_rows{{"0", "8", "13", "6", "2", "0", std::nullopt, "f"}});
}

TEST_CASE("never deletes nothing, and records of consumers have an age of their own") {
  const unpartitioned_stage on;
  auto session = on.connect();
  add_old(session, on, "published", "3000 d", 10);
  add_processed(session, "8 d", 6'000);
  add_processed(session, "6 d", 4);
  asked_relay running{on, {"--retention-published", "never", "--retention-processed", "7d"}};
  await_pruning(running, "processed");
  CHECK(records(session) == 4);
  CHECK(on.count("published") == 10);
  CHECK(metric(running, pruned("processed")) == 6'000);
  CHECK(metric(running, pruned("published")) == 0);
  CHECK(metric(running, last_prune("published")) == -1);
  running.stop();
}

TEST_CASE("by default records of consumers stay") {
  const unpartitioned_stage on;
  auto session = on.connect();
  add_old(session, on, "published", "8 d", 10);
  add_processed(session, "3000 d", 10);
  asked_relay running{on};
  await_pruning(running);
  CHECK(on.count("published") == 0);
  CHECK(records(session) == 10);
  CHECK(metric(running, last_prune("processed")) == -1);
  running.stop();
}

TEST_CASE("with retention.published = 0s what is kept already is left alone") {
  const unpartitioned_stage on;
  auto session = on.connect();
  add_old(session, on, "published", "8 d", 10);
  add_processed(session, "8 d", 10);
  asked_relay running{on, {"--retention-published", "0s", "--retention-processed", "7d"}};
  await_pruning(running, "processed");
  CHECK(on.count("published") == 10);
  CHECK(records(session) == 0);
  running.stop();
}

TEST_CASE("of two relays the one that leads does the deleting, and its heir goes on") {
  const unpartitioned_stage on;
  auto session = on.connect();
  add_old(session, on, "published", "8 d", 3'000);
  asked_relay leads{on};
  leads.wait_line("leads shard 0 of 1", time_limit);
  asked_relay stands_by{on};
  await_pruning(leads);
  stands_by.wait_line("standby: another", time_limit);
  CHECK(metric(leads, pruned("published")) == 3'000);
  add_old(session, on, "published", "8 d", 2'000);
  CHECK(metric(stands_by, pruned("published")) == 0);
  CHECK(metric(stands_by, last_prune("published")) == -1);
  leads.stop();
  await_pruning(stands_by);
  CHECK(metric(stands_by, pruned("published")) == 2'000);
  CHECK(on.count("published") == 0);
  stands_by.stop();
}

TEST_CASE("a row that somebody has locked stays, and goes at another time") {
  const unpartitioned_stage on;
  auto session = on.connect();
  add_old(session, on, "published", "8 d", 50);
  add_processed(session, "8 d", 50);
  auto other = on.connect();
  other.exec(
      "BEGIN; SELECT FROM outbox.event WHERE seq <= 3 FOR UPDATE;"
      "SELECT FROM outbox.processed_event LIMIT 3 FOR UPDATE");
  const settings_file file{""};
  auto flags = file.flags();
  flags.insert(flags.end(), {"--retention-processed", "7d"});
  asked_relay running{on, flags};
  await_pruning(running, "processed");
  CHECK(on.count("published") == 3);
  CHECK(records(session) == 3);
  other.exec("COMMIT");
  begin_a_run(running, file);
  eventually(
      "the rest is deleted", [&] { return on.count("published") == 0 && records(session) == 0; }, time_limit);
  running.stop();
}

TEST_CASE("a lock on the table is not waited for, and the log says why nothing is deleted") {
  const unpartitioned_stage on;
  auto session = on.connect();
  add_old(session, on, "published", "8 d", 50);
  const settings_file file{off};
  relay running{on, file.flags()};
  running.await_connected();
  running.wait_line("leads shard 0", time_limit);
  auto other = on.connect();
  other.exec("BEGIN; LOCK TABLE outbox.event IN SHARE MODE");
  const auto from = running.lines().size();
  begin_a_run(running, file);
  running.wait_line("retention.published: deleting failed: ", time_limit, from);
  CHECK(session.number("SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = "
                       "'outbox.event'::regclass") == 0);
  CHECK(on.count("published") == 50);
  other.exec("COMMIT");
  begin_a_run(running, file);
  eventually(
      "it is deleted", [&] { return on.count("published") == 0; }, time_limit);
  running.stop();
}

TEST_CASE("what a user's trigger will not let go is said without a word of it, and events go on") {
  const unpartitioned_stage on;
  auto session = on.connect();
  add_old(session, on, "published", "8 d", 50);
  session.exec(
      "CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS"
      " 'BEGIN IF old.seq = 7 THEN RAISE ''canary %'', old.id; END IF; RETURN old; END';"
      "CREATE TRIGGER keeper BEFORE DELETE ON outbox.event FOR EACH ROW EXECUTE FUNCTION keep()");
  relay running{on};
  const auto said = running.wait_line("retention.published: 1 old rows are kept: ", time_limit);
  CHECK(said.find("P0001") != std::string::npos);
  CHECK(said.find("keeper") != std::string::npos);
  CHECK(said.find("canary") == std::string::npos);
  on.add_events(10, 3);
  on.await_drained();
  CHECK(on.count("published") == 31);
  running.stop();
}

TEST_CASE("outbox_relay is enough for retention, and may still not read what consumers have processed") {
  const unpartitioned_stage on;
  const login user{"outbox_relay"};
  auto session = on.connect();
  add_old(session, on, "published", "8 d", 20);
  add_processed(session, "8 d", 20);
  relay running{on, {"--retention-processed", "7d"}, {{"OUTBOXD_DATABASE_URL", user.url(on)}}};
  eventually(
      "all of it is deleted", [&] { return on.count("published") == 0 && records(session) == 0; },
      time_limit);
  running.stop();
  database own{user.url(on)};
  CHECK_THROWS_AS(own.exec("SELECT FROM outbox.processed_event"), database_error);
  CHECK_THROWS_AS(own.exec("DELETE FROM outbox.processed_event"), database_error);
}

TEST_CASE("a session of retention that is ended is opened anew and goes on, and the relay is well") {
  const unpartitioned_stage on;
  auto session = on.connect();
  asked_relay running{on};
  await_pruning(running);
  add_old(session, on, "published", "8 d", 50);
  const auto pid = pruner_pid(session);
  REQUIRE(pid > 0);
  session.exec("SELECT pg_terminate_backend($1)", {std::to_string(pid)});
  eventually(
      "it is deleted", [&] { return on.count("published") == 0; }, time_limit);
  CHECK(metric(running, "outboxd_reconnects_total{peer=\"database\"}") == 0);
  CHECK(running.get("/readyz").status == 200);
  running.stop();
}

TEST_CASE(
    "when all that was published is deleted, events go out once each, also from a relay that starts then") {
  const unpartitioned_stage on;
  auto session = on.connect();
  const settings_file file{off};
  std::set<std::string> seen;
  consumer reader{on.queue(), 500};
  const auto take = [&](int count) {
    for (const auto& one : reader.take(count, time_limit)) CHECK(seen.insert(one.message_id()).second);
  };
  const auto age_and_prune = [&](asked_relay& running) {
    session.exec(
        "UPDATE outbox.event SET created_at = now() - interval '8 d', published_at = now() - interval '8 d'"
        " WHERE status = 'published'");
    begin_a_run(running, file);
    eventually(
        "it is deleted", [&] { return on.count("published") == 0; }, time_limit);
  };
  {
    asked_relay running{on, file.flags()};
    on.add_events(20, 10);
    take(200);
    on.await_drained();
    age_and_prune(running);
    on.add_events(5, 10);
    take(50);
    on.await_drained();
    age_and_prune(running);
    running.stop();
  }
  on.add_events(5, 10);
  auto flags = file.flags();
  flags.insert(flags.end(), {"--relay-sweep-interval", "20ms"});
  asked_relay heir{on, flags};
  take(50);
  on.await_drained();
  CHECK(on.count("published") == 50);
  eventually("the table is looked at", [&] { return metric(heir, "outboxd_sample_timestamp_seconds") > 0; });
  CHECK(metric(heir, "outboxd_events_published_total") == 50);
  // It leads and sweeps, and finds nothing more to read.
  const auto sweeps = metric(heir, "outboxd_sweeps_total");
  eventually("it has walked behind the position",
             [&] { return metric(heir, "outboxd_sweeps_total") > sweeps + 12; });
  CHECK(metric(heir, "outboxd_events_published_total") == 50);
  CHECK(metric(heir, "outboxd_unsettled_events") == 0);
  CHECK(seen.size() == 300);
  heir.stop();
}

TEST_CASE("a retention that is none is refused in words") {
  for (const auto& [flag, value] :
       std::vector<std::pair<std::string, std::string>>{{"--retention-published", "59s"},
                                                        {"--retention-published", "36500d"},
                                                        {"--retention-published", "week"},
                                                        {"--retention-published", ""},
                                                        {"--retention-published", "-7d"},
                                                        {"--retention-processed", "0d"},
                                                        {"--retention-processed", "3651d"}}) {
    const auto refused = run_outboxd({"run", flag, value});
    CHECK_MESSAGE(refused.exited(2), refused.text());
    CHECK_MESSAGE(refused.says(fmt::format("= '{}' (flag {})", value, flag)), refused.text());
    CHECK_MESSAGE(refused.says("never, or a duration such as 12h or 7d, 1m to 3650d"), refused.text());
  }
  const auto good = run_outboxd({"run", "--print-config", "--all", "--retention-published", "30d"});
  CHECK_MESSAGE(good.exited(0), good.text());
  CHECK(good.says("published = \"30d\"  # flag --retention-published"));
  CHECK(good.says("processed = \"never\"  # default"));
}

}  // namespace outboxd::test::retention_test
