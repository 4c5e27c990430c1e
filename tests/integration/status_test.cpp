// outboxd status: what it says agrees with the table and with the relays, as a user with outbox_operator
// alone.
#include <doctest/doctest.h>

#include "large_table.hpp"
#include "operator_desk.hpp"
#include "stage.hpp"
#include "store/relay_statements.hpp"

namespace outboxd::test::status_test {
namespace {

void add(database& session, const stage& on, const std::string& status, int count,
         const std::string& due = "0 s") {
  session.exec(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload, status, exception,"
      " published_at, available_at) SELECT 'order', n, $1, '{}', $2::outbox.event_status,"
      " CASE $2 WHEN 'dead' THEN 'dead' WHEN 'waiting' THEN 'scheduled' END::outbox.event_exception,"
      " CASE $2 WHEN 'published' THEN now() END, now() + $4::interval"
      " FROM generate_series(1, $3::int) AS n",
      {on.key(), status, std::to_string(count), due});
}

std::int64_t count(const nlohmann::json& status, const char* of) {
  return status.at("events").at(of).at("count").get<std::int64_t>();
}

/// As a leader that has read all that this session sees.
void save_position(database& session) {
  session.exec(
      "UPDATE outbox.shard SET seq = (SELECT max(seq) FROM outbox.event), seen = pg_current_snapshot(),"
      " system_identifier = (SELECT system_identifier FROM pg_control_system()), saved_by ="
      " pg_current_xact_id()");
}

}  // namespace

TEST_CASE("an outbox that is empty and not served has no oldest event, no leader and no lock holder") {
  const stage on;
  const operator_desk desk{on};
  const auto status = desk.json({"status"});
  for (const auto* one : {"pending", "waiting", "published", "dead"}) {
    CHECK(count(status, one) == 0);
    CHECK(status.at("events").at(one).at("exact") == true);
  }
  CHECK(status.at("oldest_due_age_seconds").is_null());
  CHECK(status.at("oldest_waiting_age_seconds").is_null());
  CHECK(status.at("shards").at(0).at("leader").is_null());
  CHECK(status.at("shards").at(0).at("doorbell") == "unled");
  CHECK(status.at("relays").empty());
  CHECK(status.at("culprits").empty());
  CHECK(status.at("errors").empty());
  CHECK(status.at("table").at("indexes").size() == 8);
  const auto text = desk.text({"status"});
  CHECK_MESSAGE(text.find("nobody leads it") != std::string::npos, text);
  CHECK_MESSAGE(text.find("oldest due            none") != std::string::npos, text);
}

TEST_CASE("status counts each status, and a scheduled event is not due") {
  const stage on;
  const operator_desk desk{on};
  auto session = on.connect();
  add(session, on, "dead", 3);
  session.exec(
      "UPDATE outbox.event SET last_error_code = 'returned' WHERE seq > (SELECT min(seq) FROM outbox.event)");
  add(session, on, "published", 4);
  add(session, on, "pending", 6, "1 h");
  auto status = desk.json({"status"});
  CHECK(count(status, "pending") == 6);
  CHECK(status.at("oldest_due_age_seconds").is_null());
  // As a leader does that has read them.
  session.exec(
      "UPDATE outbox.event SET status = 'waiting', exception = 'scheduled' WHERE status = 'pending'");
  status = desk.json({"status"});
  CHECK(count(status, "dead") == 3);
  CHECK(status.at("dead_by_code").at(0) == nlohmann::json{{"code", "returned"}, {"events", 2}});
  CHECK(status.at("dead_by_code").at(1) == nlohmann::json{{"code", nullptr}, {"events", 1}});
  CHECK(count(status, "published") == 4);
  CHECK(count(status, "waiting") == 6);
  CHECK(status.at("events").at("waiting").at("scheduled") == 6);
  CHECK(status.at("published_last_minute").at("count") == 4);
  CHECK(status.at("oldest_due_age_seconds").is_null());
  CHECK(status.at("oldest_waiting_age_seconds").is_null());
  add(session, on, "pending", 5, "-90 s");
  CHECK(desk.json({"status"}).at("oldest_due_age_seconds") < 90);  // nobody can send what is not there
  session.exec("UPDATE outbox.event SET created_at = now() - interval '90 s' WHERE status = 'pending'");
  session.exec(
      "UPDATE outbox.event SET available_at = '-infinity' WHERE status = 'pending' AND aggregate_id = '1'");
  status = desk.json({"status"});
  CHECK(count(status, "pending") == 5);
  CHECK(status.at("oldest_due_age_seconds") >= 90);
  session.exec("UPDATE outbox.event SET published_at = now() - interval '2 min' WHERE status = 'published'");
  CHECK(desk.json({"status"}).at("published_last_minute").at("count") == 0);
}

TEST_CASE("status names the relays, who leads and who stands by, and whether the doorbell is armed") {
  const stage on;
  const operator_desk desk{on};
  relay first{on, no_sweep};
  first.await_connected();
  on.await_asleep();
  relay second{on, no_sweep, {{"PGAPPNAME", "the other one"}}};
  second.wait_line("standby: another");
  const auto pid = on.leader();
  nlohmann::json status;
  eventually(
      "both could lead",
      [&] {
        status = desk.json({"status"});
        const auto& relays = status.at("relays");
        return relays.size() == 2 && relays.at(1).at("ready_to_lead") == 1;
      },
      time_limit);
  const auto& shard = status.at("shards").at(0);
  CHECK(shard.at("leader_pid") == pid);
  CHECK(shard.at("doorbell") == "asleep");
  REQUIRE(status.at("relays").size() == 2);
  const auto& named = status.at("relays").at(0);
  CHECK(shard.at("leader") == named.at("name"));
  CHECK(named.at("name").get<std::string>().starts_with("outboxd "));
  CHECK(named.at("version") == run_outboxd({"version"}).lines.at(0).substr(8));
  CHECK_FALSE(named.at("host").get<std::string>().empty());
  CHECK(named.at("leads") == nlohmann::json{0});
  CHECK(named.at("standby") == false);
  CHECK(named.at("hidden") == true);  // outbox_operator may not see addresses
  const auto& other = status.at("relays").at(1);
  CHECK(other.at("name") == "the other one");
  CHECK(other.at("standby") == true);
  CHECK(other.at("ready_to_lead") == 1);
  const auto text = desk.text({"status"});
  CHECK_MESSAGE(text.find("standby") != std::string::npos, text);
  CHECK_MESSAGE(text.find("not ready to lead") == std::string::npos, text);
  CHECK_MESSAGE(text.find("asleep") != std::string::npos, text);
  // Who may see them does.
  auto variables = desk.variables();
  variables["OUTBOXD_DATABASE_URL"] = on.database_url();
  const auto all = nlohmann::json::parse(run_outboxd({"status", "--json"}, variables).text());
  CHECK(all.at("relays").at(0).at("address") == "127.0.0.1");
  second.stop();
  first.stop();
}

TEST_CASE("status counts what waits, by reason and destination, and is right beside a relay that runs") {
  const stage on;
  const operator_desk desk{on};
  auto session = on.connect();
  session.exec("SELECT outbox.emit('order', '1', $1, '{}')", {"unbound-" + on.queue()});
  session.exec("SELECT outbox.emit('order', '1', $1, '{}') FROM generate_series(1, 3)", {on.key()});
  relay running{on};
  on.add_events(10, 2);
  on.await_published(10);
  eventually(
      "the followers are parked",
      [&] { return session.number("SELECT count(*) FROM outbox.event WHERE exception = 'parked'") == 13; },
      time_limit);
  const auto status = desk.json({"status"});
  CHECK(count(status, "pending") == on.count("pending"));
  CHECK(count(status, "waiting") == on.count("waiting"));
  CHECK(status.at("events").at("waiting").at("backing_off") == 1);
  CHECK(status.at("oldest_waiting_age_seconds") > 0);
  const auto& worst = status.at("waits_by_destination").at(0);
  CHECK(worst.at("code") == "returned");
  CHECK(worst.at("routing_key") == "unbound-" + on.queue());
  CHECK(worst.at("exchange") == "outbox");
  CHECK(worst.at("events") == 1);
  CHECK(worst.at("failing_since").is_string());
  CHECK(worst.at("error").get<std::string>().find("NO_ROUTE") != std::string::npos);
  running.stop();
}

TEST_CASE("status names who is in the way, and the oldest snapshot, and waits for no lock") {
  const stage on;
  const operator_desk desk{on};
  auto session = on.connect();
  add(session, on, "pending", 2);
  database holder{on.database_url() + "?application_name=backup"};
  holder.exec("BEGIN ISOLATION LEVEL REPEATABLE READ; LOCK TABLE outbox.event IN SHARE MODE; SELECT 1");
  holder.exec(
      fmt::format("SELECT pg_advisory_lock({}, 0)", store::lock_class(*pg::schema_name::parse("outbox"))));
  auto status = desk.json({"status"});
  REQUIRE(status.at("culprits").size() == 2);
  CHECK(status.at("culprits").at(0).at("keeps_from") == "leading");
  CHECK(status.at("culprits").at(0).at("application") == "backup");
  CHECK(status.at("culprits").at(1).at("keeps_from") == "writing");
  CHECK(status.at("culprits").at(1).at("mode") == "ShareLock");
  CHECK(status.at("hidden_sessions") >= 1);
  auto variables = desk.variables();
  variables["OUTBOXD_DATABASE_URL"] = on.database_url();
  const auto all = nlohmann::json::parse(run_outboxd({"status", "--json"}, variables).text());
  CHECK(all.at("oldest_snapshot").at("application") == "backup");
  CHECK(all.at("hidden_sessions") == 0);
  // A lock that nobody reads past: the other parts are there all the same.
  holder.exec("LOCK TABLE outbox.event IN ACCESS EXCLUSIVE MODE");
  const auto blocked = desk.run({"status"});
  CHECK_MESSAGE(blocked.exited(1), blocked.text());
  CHECK_MESSAGE(blocked.says("holds AccessExclusiveLock and keeps relays from writing"), blocked.text());
  CHECK_MESSAGE(blocked.says("events cannot be read: somebody holds a lock"), blocked.text());
}

TEST_CASE("status --watch looks again and again, and a Ctrl-C ends it well") {
  const stage on;
  const operator_desk desk{on};
  auto session = on.connect();
  process watching{{.program = outboxd_binary(),
                    .arguments = {"status", "--watch", "--json"},
                    .environment = desk.variables(),
                    .log_file = {}}};
  watching.wait_line("\"pending\":{\"count\":0", time_limit);
  add(session, on, "pending", 7);
  const auto line = watching.wait_line("\"pending\":{\"count\":7", time_limit);
  CHECK(nlohmann::json::parse(line).at("errors").empty());
  watching.send(SIGINT);
  CHECK(watching.wait(time_limit).code == 0);
  for (const auto& one : watching.all_lines()) CHECK(one.find('\x1b') == std::string::npos);
}

TEST_CASE("the statements of status read a bounded part of a large table, through indexes") {
  const stage on;
  const operator_desk desk{on};
  auto session = on.connect();
  add(session, on, "published", 1'000);
  save_position(session);
  pretend_large(session);
  const auto status = desk.json({"status"});
  CHECK(status.at("events").at("published").at("count") == 5'000'000);
  CHECK(status.at("events").at("published").at("exact") == false);
  CHECK(status.at("events").at("pending").at("exact") == true);
  CHECK(desk.text({"status"}).find("about 5000000") != std::string::npos);
}

TEST_CASE("what the last read could not see is in the figures of a large table") {
  const stage on;
  const operator_desk desk{on};
  auto session = on.connect();
  auto open = on.connect();
  open.exec("BEGIN");
  add(open, on, "pending", 1, "-1 h");
  const auto early = session.value("SELECT nextval('outbox.event_seq')");
  add(session, on, "published", 1);
  save_position(session);
  open.exec("COMMIT");
  session.exec(
      "INSERT INTO outbox.event (seq, aggregate_type, aggregate_id, event_type, payload)"
      " VALUES ($1, 'order', 'early', $2, '{}')",
      {early, on.key()});
  pretend_large(session);
  const auto status = desk.json({"status"});
  CHECK(count(status, "pending") == 2);
}

}  // namespace outboxd::test::status_test
