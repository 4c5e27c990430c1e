// outboxd pause and resume: what is paused stays, everything else goes on, and nothing is lost or overtaken.
#include <doctest/doctest.h>

#include "asked_relay.hpp"
#include "operator_desk.hpp"
#include "settings_file.hpp"
#include "stage.hpp"

namespace outboxd::test::pause_test {
namespace {

// Events of these types in turn, one aggregate each type, and one aggregate that has both.
void add(database& session, const stage& on, int count) {
  session.exec(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload)"
      " SELECT 'order', CASE WHEN n % 3 = 0 THEN 'both' ELSE (n % 2)::text END,"
      "  CASE n % 2 WHEN 0 THEN $1 ELSE $2 END, '{}'"
      " FROM generate_series(1, $3::int) AS n",
      {on.key("held"), on.key("free"), std::to_string(count)});
}

std::int64_t paused_events(database& session) {
  return std::stoll(
      session.value("SELECT count(*) FROM outbox.event WHERE last_error_code = 'paused'"
                    " AND status = 'waiting' AND available_at = 'infinity'"));
}

arguments with(const settings_file& settings) {
  arguments out = no_sweep;
  const auto flags = settings.flags();
  out.insert(out.end(), flags.begin(), flags.end());
  return out;
}

std::int64_t published(database& session, const std::string& type) {
  return std::stoll(session.value(
      "SELECT count(*) FROM outbox.event WHERE event_type = $1 AND status = 'published'", {type}));
}

void await_paused(const asked_relay& of, std::size_t parts) {
  eventually(
      "the relay knows what is paused",
      [&] { return nlohmann::json::parse(of.get("/readyz").body).at("paused").size() == parts; }, time_limit);
}

}  // namespace

TEST_CASE("a paused event type waits and holds back its own aggregate only, and all goes out after resume") {
  stage on;
  const operator_desk desk{on};
  auto session = on.connect();
  asked_relay running{on, no_sweep};
  running.await_connected();
  desk.text({"pause", "--event-type", on.key("held"), "--reason", "ticket 4711"});
  await_paused(running, 1);
  add(session, on, 60);
  // Of 30 free ones 20 have an aggregate without paused ones, and one is before them.
  eventually(
      "the free ones are out", [&] { return published(session, on.key("free")) == 21; }, time_limit);
  eventually(
      "the paused heads wait", [&] { return paused_events(session) == 2; }, time_limit);
  CHECK(published(session, on.key("held")) == 0);
  CHECK(running.get("/readyz").status == 200);
  CHECK(running.get("/metrics").body.find("\noutboxd_paused 1\n") != std::string::npos);
  CHECK(session.value("SELECT sum(attempts) FROM outbox.event") == "0");
  const auto status = desk.json({"status"});
  REQUIRE(status.at("paused").size() == 1);
  CHECK(status.at("paused").at(0).at("reason") == "ticket 4711");
  const auto id = session.value("SELECT id FROM outbox.event WHERE last_error_code = 'paused' LIMIT 1");
  CHECK(desk.json({"trace", "--id", id}).at("state") == "paused");
  CHECK(desk.text({"resume", "--event-type", on.key("held")}).starts_with("resumed: 1 pause ended"));
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  CHECK(session.value("SELECT string_agg(what || ' ' || selection, ', ' ORDER BY id) FROM outbox.audit") ==
        "pause --event-type " + on.key("held") + ", resume --event-type " + on.key("held"));
  running.stop();
}

TEST_CASE(
    "a paused exchange and a paused routing key keep back what goes there, by its row or by its route") {
  const stage on;
  const operator_desk desk{on};
  auto session = on.connect();
  const auto held = on.key("held");
  const settings_file routes{
      fmt::format("[[route]]\nname = 'ours'\nevent_type = 'routed'\nrouting_key = '{}'\n", held)};
  const auto add_one = [&](const std::string& id, const std::string& values) {
    session.exec(
        "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, exchange, routing_key, payload)"
        " VALUES ('order', '" +
        id + "', " + values + ")");
  };
  const auto xmin_of = [&](const std::string& id) {
    return session.value("SELECT xmin FROM outbox.event WHERE aggregate_id = $1", {id});
  };
  desk.text({"pause", "--exchange", "", "--routing-key", "*.h?ld"});
  {
    asked_relay first{on, with(routes)};
    await_paused(first, 2);
    add_one("routed", "'routed', NULL, NULL, '{}'");
    add_one("row", "'a', NULL, '" + held + "', '{}'");
    add_one("large", "'a', NULL, '" + held + "', json_build_object('text', repeat('x', 300000))");
    add_one("unnamed", "'a', '', '" + on.queue() + "', '{}'");
    add_one("free", "'a', NULL, '" + on.key("free") + "', '{}'");
    on.await_published(1);
    eventually(
        "all others wait", [&] { return paused_events(session) == 4; }, time_limit);
    CHECK(on.count("published") == 1);
    const auto shown = desk.text({"status"});
    CHECK_MESSAGE(shown.find("exchange ''") != std::string::npos, shown);
    CHECK_MESSAGE(shown.find("routing key *.h?ld") != std::string::npos, shown);
    const auto routed = xmin_of("routed");
    const auto row = xmin_of("row");
    CHECK(desk.text({"resume", "--exchange", ""}).starts_with("resumed: 1 pause ended"));
    on.await_published(2);
    CHECK(session.value("SELECT status FROM outbox.event WHERE aggregate_id = 'unnamed'") == "published");
    eventually(
        "what is still paused waits", [&] { return paused_events(session) == 3; }, time_limit);
    // It was found with the other one, and is left as it was.
    CHECK(xmin_of("routed") == routed);
    CHECK(xmin_of("row") == row);
    first.stop();
  }
  asked_relay second{on, with(routes)};
  await_paused(second, 1);
  add_one("last", "'a', NULL, '" + on.key("free") + "', '{}'");
  on.await_published(3);
  CHECK(paused_events(session) == 3);
  CHECK(session.value("SELECT string_agg(what || ' ' || selection, ', ' ORDER BY id) FROM outbox.audit") ==
        "pause --exchange '' --routing-key *.h?ld, resume --exchange ''");
  desk.text({"resume", "--routing-key", "*.h?ld"});
  const auto report = on.check_all();
  CHECK_MESSAGE(report.lost + report.phantom + report.out_of_order + report.duplicates == 0, report.words());
  CHECK(report.mismatches == 1);  // the routed one: its row does not name the key
  second.stop();
}

TEST_CASE("the session of a leader that is paused altogether does not pass for one that hangs") {
  const stage on;
  const operator_desk desk{on};
  auto session = on.connect();
  relay running{on};
  const auto leader = on.await_leader();
  desk.text({"pause", "--all"});
  eventually(
      "something is asked at a sweep though nothing is read",
      [&] {
        return session.value("SELECT query FROM pg_stat_activity WHERE pid = $1", {std::to_string(leader)}) ==
               "SELECT pg_notification_queue_usage()";
      },
      time_limit);
  running.stop();
}

TEST_CASE("a pause outlives the relay, and one that ended while none ran is over for the next one") {
  const stage on;
  const operator_desk desk{on};
  auto session = on.connect();
  desk.text({"pause", "--aggregate-type", "order"});
  {
    asked_relay first{on, no_sweep};
    first.await_connected();
    add(session, on, 12);
    eventually(
        "all heads wait", [&] { return paused_events(session) == 3; }, time_limit);
    first.stop();
  }
  {
    asked_relay second{on, no_sweep};
    await_paused(second, 1);
    second.stop();
  }
  CHECK(on.count("published") == 0);
  desk.text({"resume", "--all"});
  relay third{on, no_sweep};
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  third.stop();
}

TEST_CASE("everything paused: what is pending stays pending, and goes out by itself when the pause ends") {
  const stage on;
  const operator_desk desk{on};
  asked_relay running{on, no_sweep};
  running.await_connected();
  desk.text({"pause", "--all"});
  await_paused(running, 1);
  auto session = on.connect();
  add(session, on, 10);
  CHECK(on.count("published") == 0);
  CHECK(on.count("pending") == 10);
  const auto until =
      session.value("UPDATE outbox.pause SET until = clock_timestamp() + interval '2 s' RETURNING until");
  session.exec("SELECT pg_notify('outbox', 'pause')");
  const auto report = on.check_all();
  CHECK(session.number("SELECT count(*) FROM outbox.event WHERE published_at < $1::timestamptz", {until}) ==
        0);
  CHECK_MESSAGE(report.sound(), report.words());
  CHECK(desk.json({"status"}).at("paused").empty());
  running.stop();
}

TEST_CASE("pauses come and go under load with two relays: nothing is lost, doubled or overtaken") {
  const stage on;
  const operator_desk desk{on};
  auto session = on.connect();
  relay first{on};
  relay second{on};
  first.await_connected();
  second.await_connected();
  for (int round = 0; round < 4; ++round) {
    desk.text({"pause", "--event-type", on.key("held")});
    add(session, on, 300);
    if (round == 2) desk.text({"pause", "--all"});
    add(session, on, 300);
    desk.text({"resume", "--all"});
    add(session, on, 300);
  }
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  first.stop();
  second.stop();
}

TEST_CASE("in SQL a part to pause or resume is an array or a text, and a text is one name") {
  const stage on;
  auto session = on.connect();
  const auto pause = [&](const std::string& call) {
    session.exec("TRUNCATE outbox.pause");
    const auto parts = session.value("SELECT outbox.pause(" + call + ")");
    return parts + " " +
           session.value("SELECT string_agg(part || '=' || name, ' ' ORDER BY part, name) FROM outbox.pause");
  };
  CHECK(pause("event_types => 'order.created'") == "1 event_type=order.created");
  CHECK(pause("'a, b', exchanges => 'shop', routing_keys => '*.x'") ==
        "3 event_type=a, b exchange=shop routing_key=*.x");
  CHECK(pause("'a'::varchar, reason => 'ticket 7', until => 'infinity'") == "1 event_type=a");
  CHECK(pause("'{}', aggregate_types => 'order'") == "1 aggregate_type=order");
  for (const auto* both : {"'{a,b}'", "'{a,b}'::text[]", "ARRAY['a', 'b']", "'{\"a\",\"b\"}'"})
    CHECK_MESSAGE(pause(both) == "2 event_type=a event_type=b", both);
  for (const auto* all :
       {"'{}', everything => true", "NULL, everything => true", "ARRAY[]::text[], '{}', true"})
    CHECK_MESSAGE(pause(all) == "1 everything=", all);
  CHECK_THROWS_AS(pause("''"), database_error);
  pause("'{a,b,c}', exchanges => 'shop'");
  CHECK(session.number("SELECT outbox.resume('a', exchanges => 'shop')") == 2);
  CHECK(session.number("SELECT outbox.resume('{b}')") == 1);
  CHECK(session.number("SELECT outbox.resume(ARRAY['c'], reason => 'ticket 7')") == 1);
  CHECK(session.value("SELECT selection FROM outbox.audit WHERE what = 'resume' ORDER BY id LIMIT 1") ==
        "--event-type a --exchange shop");
}

TEST_CASE("a pause is refused in words: without a selector, with an end that has passed, with no type") {
  const stage on;
  const operator_desk desk{on};
  for (const auto& [words, expected] : std::vector<std::pair<arguments, std::string>>{
           {{"pause"}, "pause needs a selector"},
           {{"resume"}, "resume needs a selector"},
           {{"pause", "--all", "--event-type", "a"}, "--all selects everything"},
           {{"pause", "--event-type", ""}, "--event-type has 0 bytes"},
           {{"pause", "--event-type", std::string(1001, 'x')}, "--event-type has 1001 bytes"},
           {{"pause", "--routing-key", std::string(1001, 'x')}, "--routing-key has 1001 bytes"},
           {{"pause", "--all", "--exchange", "a"}, "--all selects everything"},
           {{"pause", "--all", "--until", "2001-01-01"}, "--until '2001-01-01' is in the past"},
           {{"pause", "--all", "--until", "soon"}, "--until 'soon' is not a time"}}) {
    const auto done = desk.run(words);
    CHECK_MESSAGE(done.exited(2), done.text());
    CHECK_MESSAGE(done.text().find(expected) != std::string::npos, done.text());
  }
  const auto unknown = desk.run({"pause", "--event-type", "ordr.created", "--until", "2h"});
  CHECK_MESSAGE(unknown.exited(0), unknown.text());
  CHECK_MESSAGE(unknown.text().find("none of the latest 10000 events is of this type") != std::string::npos,
                unknown.text());
  CHECK(desk.text({"resume", "--event-type", "order.created"}).starts_with("no such pause was in force"));
  CHECK(desk.text({"resume", "--all"}).starts_with("resumed: 1 pause ended"));
  auto session = on.connect();
  CHECK(session.value("SELECT count(*) FROM outbox.audit") == "2");
}

}  // namespace outboxd::test::pause_test
