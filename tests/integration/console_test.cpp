// outboxd console: what it shows agrees with what is so, its first sentence says what is wrong, and it comes
// back by itself.
#include <doctest/doctest.h>

#include "asked_relay.hpp"
#include "running_console.hpp"
#include "support/servers.hpp"

namespace outboxd::test::console_test {
namespace {

void add(database& session, const stage& on, const std::string& columns, const std::string& values,
         int count) {
  session.exec("INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload" + columns +
                   ") SELECT 'order', n, $1, '{}'" + values + " FROM generate_series(1, $2::int) AS n",
               {on.key(), std::to_string(count)});
}

running_console console_beside(const asked_relay& running, const operator_desk& desk) {
  return running_console{desk, {"--console-relay-urls", "http://" + running.address()}};
}

}  // namespace

TEST_CASE("the console shows the figures of status, and the relay that publishes") {
  const stage on;
  const operator_desk desk{on};
  asked_relay running{on};
  running.await_connected();
  on.add_events(5, 4);
  on.await_published(20);
  const auto console = console_beside(running, desk);
  console.await_headline("well");
  const auto now = console.json("/api/now");
  CHECK(now.at("database").at("up") == true);
  CHECK(now.at("status").at("events").at("published").at("count") == 20);
  CHECK(now.at("status").at("relays").size() == 1);
  CHECK(now.at("relays").at(0).at("status").at("ready") == true);
  CHECK_FALSE(now.at("figures").empty());
  const auto after = now.at("figures").back().at(0).dump();
  CHECK(console.json("/api/now?after=" + after).at("figures").size() < now.at("figures").size() + 1);
  running.stop();
  console.await_headline("no_relay");
}

TEST_CASE("an alarm of RabbitMQ is told with its cause, what waits and since when, until it is over") {
  const stage on;
  const operator_desk desk{on};
  asked_relay running{on};
  running.await_connected();
  const auto console = console_beside(running, desk);
  console.await_headline("well");
  memory_alarm alarm;
  on.add_events(3);
  nlohmann::json said;
  eventually(
      "the page says that three events wait",
      [&] {
        said = console.headline();
        return said.at("text").get<std::string>().find("3 events wait, and nothing is lost") !=
               std::string::npos;
      },
      time_limit);
  CHECK(said.at("code") == "relay_not_ready");
  CHECK(said.at("text").get<std::string>().find("RabbitMQ") != std::string::npos);
  CHECK_FALSE(said.at("since").get<std::string>().empty());
  alarm.end();
  console.await_headline("well");
  running.stop();
}

TEST_CASE("what is stuck is told by reason, type and destination, with an example and what it holds up") {
  const stage on;
  const operator_desk desk{on};
  auto session = on.connect();
  const auto lost = "unbound-" + on.queue();
  session.exec("SELECT outbox.emit('order', '1', $1, '{}')", {lost});
  session.exec("SELECT outbox.emit('order', '1', $1, '{}') FROM generate_series(1, 3)", {on.key()});
  add(session, on, ", status, exception, last_error_code, last_error",
      ", 'dead', 'dead', 'unencodable', 'too long'", 5);
  relay running{on};
  eventually(
      "the followers are parked",
      [&] { return session.number("SELECT count(*) FROM outbox.event WHERE exception = 'parked'") == 3; },
      time_limit);
  const running_console console{desk};
  const auto stuck = console.json("/api/stuck");
  CHECK(stuck.at("errors").empty());
  REQUIRE(stuck.at("failures").size() == 2);
  const auto& dead = stuck.at("failures").at(0);
  CHECK(dead.at("state") == "dead");
  CHECK(dead.at("code") == "unencodable");
  CHECK(dead.at("event_type") == on.key());
  CHECK(dead.at("events") == 5);
  CHECK(dead.at("example").at("last_error") == "too long");
  const auto& waits = stuck.at("failures").at(1);
  CHECK(waits.at("state") == "backing_off");
  CHECK(waits.at("code") == "returned");
  CHECK(waits.at("exchange") == "outbox");
  CHECK(waits.at("routing_key") == lost);
  CHECK(waits.at("waits_for_destination") == true);
  CHECK(waits.at("failing_since").is_string());
  REQUIRE(stuck.at("held").size() == 1);
  const auto& held = stuck.at("held").at(0);
  CHECK(held.at("aggregate_type") == "order");
  CHECK(held.at("aggregate_id") == "1");
  CHECK(held.at("events") == 3);
  CHECK(held.at("behind").at("id") == waits.at("example").at("id"));
  CHECK(held.at("behind").at("code") == "returned");
  const auto event = console.json("/api/event?id=" + waits.at("example").at("id").get<std::string>());
  CHECK(event.at("events").at(0).at("state") == "backing_off");
  console.await_headline("dead");
  const auto words = console.headline().at("text").get<std::string>();
  CHECK_MESSAGE(words.starts_with("5 events are dead, and 1 waits at exchange \"outbox\" with key " + lost),
                words);
  running.stop();
}

TEST_CASE("the first sentence names who is in the way, who has paused what, and a row that is missing") {
  const stage on;
  const operator_desk desk{on};
  auto session = on.connect();
  add(session, on, "", "", 3);
  const running_console console{desk};
  console.await_headline("no_relay");
  CHECK(console.headline().at("text") == "No relay runs; 3 events wait, and nothing is lost.");
  CHECK(desk.run({"pause", "--all", "--reason", "ticket 7"}).exited(0));
  console.await_headline("all_paused");
  CHECK(console.headline().at("text").get<std::string>().find("(ticket 7); 3 events wait") !=
        std::string::npos);
  CHECK(console.json("/api/audit").at("actions").at(0).at("what") == "pause");
  CHECK(console.json("/api/audit").at("actions").at(0).at("reason") == "ticket 7");
  CHECK(desk.run({"resume", "--all"}).exited(0));
  {
    database holder{on.database_url() + "?application_name=backup"};
    holder.exec("BEGIN; LOCK TABLE outbox.event IN SHARE MODE");
    console.await_headline("lock_holder");
    CHECK(console.headline().at("text").get<std::string>().find("application backup") != std::string::npos);
  }
  session.exec("UPDATE outbox.shard SET shard = 1 WHERE shard = 0");
  console.await_headline("shard_missing");
}

TEST_CASE("beside another version of the schema the console says what it cannot read, and goes on after it") {
  const stage on;
  const operator_desk desk{on};
  const running_console console{desk};
  console.await_headline("no_relay");
  on.connect().exec("ALTER TABLE outbox.event RENAME COLUMN exception TO exception_of_later");
  console.await_headline("outbox_unread");
  const auto words = console.headline().at("text").get<std::string>();
  CHECK_MESSAGE(words.find("column e.exception does not exist") != std::string::npos, words);
  on.connect().exec("ALTER TABLE outbox.event RENAME COLUMN exception_of_later TO exception");
  console.await_headline("no_relay");
}

TEST_CASE("what is in an event is told as it is, cut where it is long, and its payload is nowhere") {
  const stage on;
  const operator_desk desk{on};
  auto session = on.connect();
  const std::string hostile = "<script>alert(1)</script>\xE2\x80\xAE";
  session.exec(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload, status, exception, "
      "last_error)"
      " VALUES ($1, repeat('a', 100000), $1, '{\"canary\": \"in-the-payload\"}', 'dead', 'dead', repeat('b', "
      "100000))",
      {hostile});
  const running_console console{desk};
  const auto answer = console.get("/api/stuck");
  CHECK(answer.has("Content-Type: application/json\r\n"));
  CHECK(answer.body.size() < 10'000);
  CHECK(answer.body.find("in-the-payload") == std::string::npos);
  const auto stuck = nlohmann::json::parse(answer.body);
  REQUIRE(stuck.at("failures").size() == 1);
  CHECK(stuck.at("failures").at(0).at("event_type") == hostile);
  const auto id = stuck.at("failures").at(0).at("example").at("id").get<std::string>();
  const auto event = console.get("/api/event?id=" + id);
  CHECK(event.status == 200);
  CHECK(event.body.find("in-the-payload") == std::string::npos);
}

TEST_CASE("an event that is not there, and an id that is none, are told apart") {
  const stage on;
  const operator_desk desk{on};
  const running_console console{desk};
  const auto missing = console.json("/api/event?id=6f1c1f1e-2f0c-4b1e-9d55-0a1b2c3d4e5f");
  CHECK(missing.at("events").empty());
  CHECK(missing.at("missing").at("state") == "unknown");
  for (const auto* wrong : {"", "1", "6f1c1f1e-2f0c-4b1e-9d55-0a1b2c3d4e5f'", "%27;DROP"})
    CHECK(console.get(std::string("/api/event?id=") + wrong).status == 400);
  CHECK(console.get("/api/audit?before=1;").status == 400);
  CHECK(console.get("/api/nothing").status == 404);
  CHECK(console.get("/nothing").status == 404);
}

TEST_CASE("when its sessions are ended, the console goes on with new ones") {
  const stage on;
  const operator_desk desk{on};
  const running_console console{desk};
  console.await_headline("no_relay");
  auto session = on.connect();
  for (int i = 0; i < 3; ++i) {
    session.exec(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE application_name = 'outboxd console' AND datname = current_database()");
    CHECK(console.json("/api/audit").at("actions").empty());
  }
  CHECK(console.headline().at("code") == "no_relay");
}

TEST_CASE("without a database the console says so, and comes back by itself") {
  const stage on;
  const operator_desk desk{on};
  auto session = on.connect();
  add(session, on, "", "", 3);
  const running_console console{desk};
  console.await_headline("no_relay");
  session.exec("ALTER DATABASE " + on.database_name() + " CONNECTION LIMIT 0");
  session.exec(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
      " WHERE application_name = 'outboxd console' AND datname = current_database()");
  console.await_headline("database_away");
  const auto now = console.json("/api/now");
  CHECK(now.at("database").at("since").is_string());
  CHECK(now.at("status").at("events").at("pending").at("count") == 3);  // what was seen before stays
  CHECK(console.get("/api/stuck").status == 503);
  session.exec("ALTER DATABASE " + on.database_name() + " CONNECTION LIMIT -1");
  console.await_headline("no_relay");
  session.exec("ALTER SCHEMA outbox RENAME TO elsewhere");
  console.await_headline("outbox_unread");
  session.exec("ALTER SCHEMA elsewhere RENAME TO outbox");
  console.await_headline("no_relay");
}

TEST_CASE("events are found by status, type, aggregate and time, the newest first, page by page") {
  const stage on;
  const operator_desk desk{on};
  auto session = on.connect();
  add(session, on, "", "", 120);
  add(session, on, ", status, exception, last_error_code", ", 'dead', 'dead', 'returned'", 3);
  add(session, on, ", status, exception, available_at", ", 'waiting', 'scheduled', now() + interval '1 h'",
      2);
  add(session, on, ", created_at", ", now() - interval '2 d'", 4);
  const running_console console{desk};
  const auto found = [&](const std::string& query) {
    return console.json("/api/events?" + query).at("found");
  };
  CHECK(found("status=dead").size() == 3);
  CHECK(found("status=dead").at(0).at("code") == "returned");
  CHECK(found("status=dead&code=returned").size() == 3);
  CHECK(found("status=dead&code=none").empty());
  CHECK(found("status=waiting&code=none").size() == 2);
  CHECK(found("status=waiting").size() == 2);
  CHECK(found("status=published").empty());
  CHECK(found("type=" + on.key() + "&aggregate=order/1").size() == 4);
  CHECK(found("aggregate=order%2F120").size() == 1);
  CHECK(found("type=other").empty());
  CHECK(found("until=1d").size() == 4);
  CHECK(found("status=dead&since=1h").size() == 3);
  session.exec(
      "UPDATE outbox.event SET status = 'published', published_at = now() WHERE created_at < now() - "
      "interval "
      "'1 d'");
  CHECK(found("status=published&since=1h").size() == 4);
  CHECK(found("status=published&until=1h").empty());
  const auto first = found("");
  REQUIRE(first.size() == 100);
  CHECK(first.at(0).at("seq") > first.at(99).at("seq"));
  const auto rest = found("before=" + first.at(99).at("seq").dump());
  CHECK(rest.size() == 29);
  CHECK(rest.at(0).at("seq") < first.at(99).at("seq"));
  for (const auto* wrong :
       {"status=gone", "aggregate=order", "aggregate=/1", "before=x", "since=yesterday%20noon"}) {
    CAPTURE(wrong);
    CHECK(console.get(std::string("/api/events?") + wrong).status == 400);
  }
}

TEST_CASE("a look does no more than look: its sessions cannot write, and wait for no lock") {
  const stage on;
  const operator_desk desk{on};
  const running_console console{desk};
  database holder{on.database_url()};
  holder.exec("BEGIN; LOCK TABLE outbox.event IN ACCESS EXCLUSIVE MODE");
  const auto stuck = console.json("/api/stuck");
  CHECK(stuck.at("errors").size() == 1);
  CHECK(stuck.at("culprits").at(0).at("mode") == "AccessExclusiveLock");
}

TEST_CASE("a stop ends the console at once, with questions open or not") {
  const stage on;
  const operator_desk desk{on};
  running_console console{desk};
  CHECK(console.get("/api/now").status == 200);
  console.send(SIGTERM);
  CHECK(console.wait(time_limit).code == 0);
}

}  // namespace outboxd::test::console_test
