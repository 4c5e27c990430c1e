// dead list, show, retry and discard, as a user who has outbox_operator and nothing else.
#include <doctest/doctest.h>

#include "operator_desk.hpp"
#include "stage.hpp"

namespace outboxd::test::dead_letter_test {
namespace {

constexpr auto canary = "canary-v4lue";

std::int64_t count(database& session, const std::string& condition) {
  return session.number("SELECT count(*) FROM outbox.event WHERE " + condition);
}

}  // namespace

TEST_CASE("dead events are listed and shown without payload and header values unless asked for") {
  for (const std::string type : {"jsonb", "json", "text", "bytea"}) {
    CAPTURE(type);
    const stage on{{.payload = type}};
    const operator_desk desk{on};
    auto session = on.connect();
    const auto id = session.value(fmt::format(
        "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload, headers,"
        " status, exception, last_error) VALUES ('order', '42', 'order.created', '{{\"p\": \"{0}\"}}'::{1},"
        " '{{\"tenant\": \"{0}\", \"n\": 1e400}}', 'dead', 'dead', 'no such thing') RETURNING id",
        canary, type == "bytea" ? "text::bytea" : type));
    for (const arguments& quiet :
         {arguments{"dead", "list"}, arguments{"dead", "list", "--json"},
          arguments{"dead", "show", "--id", id}, arguments{"dead", "show", "--id", id, "--json"},
          arguments{"dead", "retry", "--all", "--dry-run"},
          arguments{"dead", "retry", "--all", "--dry-run", "--json"}}) {
      const auto said = desk.text(quiet);
      CHECK_MESSAGE(said.find(id) != std::string::npos, said);
      CHECK_MESSAGE(said.find("no such thing") != std::string::npos, said);
      CHECK_MESSAGE(said.find(canary) == std::string::npos, said);
    }
    const auto listed = desk.json({"dead", "list"}).at(0);
    CHECK(listed.at("aggregate_type") == "order");
    CHECK(listed.at("aggregate_id") == "42");
    CHECK(listed.at("status") == "dead");
    CHECK(listed.at("header_names") == nlohmann::json{"n", "tenant"});
    CHECK_FALSE(listed.contains("payload"));

    const auto stored = session.value("SELECT payload FROM outbox.event");
    const auto text = desk.text({"dead", "show", "--id", id, "--payload"});
    CHECK_MESSAGE(text.ends_with("\n" + stored), text);
    CHECK_MESSAGE(text.find("\"tenant\": \"" + std::string{canary}) != std::string::npos, text);
    const auto json = desk.text({"dead", "show", "--id", id, "--payload", "--json"});
    CHECK_MESSAGE(json.find("\"headers\" : {\"n\": 1000000") != std::string::npos, json);  // not rounded
    CHECK_MESSAGE(json.find("\"payload\" : ") != std::string::npos, json);
  }
}

TEST_CASE("what a terminal would obey is escaped in the table") {
  const stage on;
  const operator_desk desk{on};
  on.connect().exec(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload, status, exception,"
      " last_error) VALUES ('order', E'\\x1b[2J', E'a\\nb', '{}', 'dead', 'dead', 'größe')");
  const auto said = desk.text({"dead", "list"});
  CHECK(said.find('\x1b') == std::string::npos);
  CHECK_MESSAGE(said.find("a\\nb        order/\\x1b[2J  größe") != std::string::npos, said);
}

TEST_CASE("dead list shows no more than its limit and says when there are more") {
  const stage on;
  const operator_desk desk{on};
  auto session = on.connect();
  for (int i = 0; i < 4; ++i) add_dead(session, on);
  const auto some = desk.run({"dead", "list", "--limit", "3"});
  CHECK(some.exited(0));
  CHECK(some.lines.size() == 5);
  CHECK_MESSAGE(some.says("more than these 3 events match; raise --limit"), some.text());
  CHECK(desk.json({"dead", "list", "--limit", "4"}).size() == 4);
  CHECK(desk.text({"dead", "list", "--aggregate", "order/none"}) == "0 dead events");
  CHECK(desk.json({"dead", "list", "--aggregate", "order/none"}).empty());
}

TEST_CASE("a retried event keeps its id and its seq and leaves at once") {
  const stage on;
  const operator_desk desk{on};
  auto session = on.connect();
  relay running{on, no_sweep};
  running.await_connected();
  session.exec(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload, routing_key)"
      " VALUES ('order', '1', $1, '{}', repeat('k', 256))",
      {on.key()});
  eventually("the event is dead", [&] { return on.count("dead") == 1; });
  const auto before = session.exec("SELECT id, seq, last_error FROM outbox.event").at(0);
  session.exec("UPDATE outbox.event SET routing_key = NULL");
  CHECK(desk.text({"dead", "retry", "--id", *before[0]}) == "dead retry: 1 event requeued");
  on.await_published(1);
  const auto after = session.exec("SELECT id, seq, last_error FROM outbox.event").at(0);
  CHECK(after == before);
  CHECK(count(session, "attempts = 0 AND available_at > created_at") == 1);
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  CHECK(report.delivered == 1);
  CHECK(desk.text({"dead", "retry", "--id", *before[0]}) == "dead retry: 0 events requeued");
  running.stop();
}

TEST_CASE("a retried event is published before the later events of its aggregate") {
  const stage on;
  const operator_desk desk{on};
  auto session = on.connect();
  for (int i = 1; i <= 5; ++i) add_dead(session, on, std::to_string(i));
  on.add_events(3, 5);
  for (int i = 1; i <= 5; ++i) add_dead(session, on, std::to_string(i));
  on.add_events(3, 5);
  CHECK(desk.json({"dead", "retry", "--all"}).at("changed") == 10);
  relay running{on};
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  CHECK(report.delivered == 40);
  running.stop();
}

TEST_CASE("a retried event waits behind an earlier one that backs off") {
  const stage on;
  const operator_desk desk{on};
  auto session = on.connect();
  relay running{on};
  session.exec("SELECT outbox.emit('order', '1', $1, '{}')", {"unbound-" + on.queue()});
  eventually(
      "the first one backs off", [&] { return count(session, "exception = 'backing_off'") == 1; },
      time_limit);
  const auto id = add_dead(session, on);
  CHECK(desk.json({"dead", "retry", "--id", id}).at("changed") == 1);
  eventually(
      "it is behind the first one",
      [&] { return count(session, "exception = 'parked' AND attempts = 0") == 1; }, time_limit);
  broker{}.bind(on.queue(), "outbox", "unbound-" + on.queue());
  session.exec("UPDATE outbox.event SET available_at = now() WHERE exception = 'backing_off'");
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  CHECK(report.delivered == 2);
  running.stop();
}

TEST_CASE("a retried event does not wait for an earlier one that is scheduled") {
  const stage on;
  const operator_desk desk{on};
  auto session = on.connect();
  relay running{on};
  session.exec("SELECT outbox.emit('order', '1', $1, '{}', available_at => now() + interval '1 year')",
               {on.key()});
  const auto id = add_dead(session, on);
  CHECK(desk.json({"dead", "retry", "--id", id}).at("changed") == 1);
  on.await_published(1);
  CHECK(on.count("waiting") == 1);
  running.stop();
}

TEST_CASE("a long queue of dead events is retried in portions and in order while a relay is at work") {
  const stage on;
  const operator_desk desk{on};
  auto session = on.connect();
  session.exec(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload, status, exception)"
      " SELECT 'order', n % 3, $1, '{}', 'dead', 'dead' FROM generate_series(1, 3600) AS n",
      {on.key()});
  // A statement that makes more than a portion due would stop at this.
  session.exec(
      "CREATE FUNCTION changed() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
      " IF (SELECT count(*) FROM changed_rows WHERE status = 'waiting') > 1000 THEN"
      "   RAISE 'too large a portion';"
      " END IF;"
      " RETURN NULL; END $$;"
      "CREATE TRIGGER changed AFTER UPDATE ON outbox.event REFERENCING NEW TABLE AS changed_rows"
      " FOR EACH STATEMENT EXECUTE FUNCTION changed()");
  relay running{on};
  running.await_connected();
  const auto done = desk.json({"dead", "retry", "--event-type", on.key()});
  CHECK(done.at("matched") == 3600);
  CHECK(done.at("changed") == 3600);
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  CHECK(report.delivered == 3600);
  running.stop();
}

TEST_CASE("followers of a dead event that is discarded go on") {
  const stage on;
  const operator_desk desk{on};
  auto session = on.connect();
  const auto id = add_dead(session, on);
  on.add_events(3);
  // As a relay leaves them that is killed before it has released all of a long queue.
  session.exec("UPDATE outbox.event SET status = 'waiting', exception = 'parked' WHERE status = 'pending'");
  CHECK(desk.json({"dead", "discard", "--id", id}).at("changed") == 1);
  relay running{on};
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  CHECK(report.delivered == 3);
  running.stop();
}

TEST_CASE("a dead event with followers still behind it is retried before them") {
  const stage on;
  const operator_desk desk{on};
  auto session = on.connect();
  add_dead(session, on);
  on.add_events(3);
  session.exec("UPDATE outbox.event SET status = 'waiting', exception = 'parked' WHERE status = 'pending'");
  CHECK(desk.json({"dead", "retry", "--all"}).at("changed") == 1);
  relay running{on};
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  CHECK(report.delivered == 4);
  running.stop();
}

TEST_CASE("discarding and retrying touch dead events alone") {
  const stage on;
  const operator_desk desk{on};
  auto session = on.connect();
  on.add_events(2);
  session.exec("SELECT outbox.emit('order', '2', $1, '{}', available_at => now() + interval '1 year')",
               {on.key()});
  session.exec(
      "UPDATE outbox.event SET status = 'published', published_at = now(), attempts = 2"
      " WHERE seq = (SELECT min(seq) FROM outbox.event)");
  const auto before = session.exec("SELECT * FROM outbox.event ORDER BY seq");
  CHECK(desk.json({"dead", "retry", "--all"}).at("matched") == 0);
  CHECK(desk.json({"dead", "discard", "--all"}).at("matched") == 0);
  const auto id = session.value("SELECT id FROM outbox.event WHERE status = 'published'");
  CHECK(desk.json({"dead", "discard", "--id", id}).at("matched") == 0);
  CHECK(session.exec("SELECT * FROM outbox.event ORDER BY seq") == before);
}

TEST_CASE("dead show says of an event that is not dead what it is, and exits with 1") {
  const stage on;
  const operator_desk desk{on};
  on.add_events(1);
  const auto pending =
      desk.run({"dead", "show", "--id", on.connect().value("SELECT id FROM outbox.event"), "--payload"});
  CHECK(pending.exited(1));
  CHECK_MESSAGE(pending.says("is not dead: it is pending"), pending.text());
  const auto unknown = desk.run({"dead", "show", "--id", "00000000-0000-0000-0000-000000000000"});
  CHECK(unknown.exited(1));
  CHECK_MESSAGE(unknown.says("there is no event 00000000-"), unknown.text());
}

}  // namespace outboxd::test::dead_letter_test
