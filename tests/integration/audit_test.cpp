// outbox.audit: one row for each command, whoever gives it, and nobody can write it by himself.
#include <doctest/doctest.h>

#include <algorithm>

#include "operator_desk.hpp"
#include "stage.hpp"

namespace outboxd::test::audit_test {
namespace {

constexpr auto insufficient_privilege = "42501";

// The rows as the operator reads them, oldest first.
nlohmann::json audit_of(const stage& on) {
  return nlohmann::json::parse(
      on.connect().value("SELECT coalesce(json_agg(to_json(a) ORDER BY a.id), '[]') FROM outbox.audit AS a"));
}

// Many events of one transaction, so that a command needs several portions.
void add_many(database& session, const stage& on, const std::string& status, int count) {
  session.exec(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload, status, exception,"
      " published_at, headers)"
      " SELECT 'order', n, $1, '{\"secret\": 1}', $2::outbox.event_status,"
      " CASE $2 WHEN 'dead' THEN 'dead' END::outbox.event_exception, CASE $2 WHEN 'published' THEN now() END,"
      " '{\"token\": \"hidden\"}'"
      " FROM generate_series(1, $3::int) AS n",
      {on.key(), status, std::to_string(count)});
}

std::string refusal(database& session, const std::string& sql) {
  try {
    session.exec(sql);
    return "";
  } catch (const database_error& error) {
    return error.sqlstate;
  }
}

}  // namespace

TEST_CASE("each command leaves one row with who, what, the selection, the count and the reason") {
  const stage on;
  const operator_desk desk{on};
  auto session = on.connect();
  add_many(session, on, "dead", 2'500);
  add_many(session, on, "published", 3);
  desk.text({"dead", "retry", "--event-type", on.key(), "--since", "2h", "--reason", "ticket 4711"});
  desk.text({"replay", "--aggregate", "order/1", "--aggregate", "order/it's 2"});
  const auto id = add_dead(session, on, "9");
  desk.text({"dead", "discard", "--id", id, "--reason", "nobody misses it"});
  session.exec(
      "UPDATE outbox.event SET status = 'published', published_at = now() - interval '9 d',"
      " created_at = now() - interval '9 d' WHERE aggregate_id = '2'");
  session.exec("INSERT INTO outbox.processed_event VALUES ('c', gen_random_uuid(), now() - interval '9 d')");
  desk.text({"prune", "--older-than", "7d"});
  desk.text({"dead", "retry", "--all"});

  const auto rows = audit_of(on);
  REQUIRE(rows.size() == 5);
  const auto user = session.value("SELECT split_part(who, ' ', 1) FROM outbox.audit LIMIT 1");
  CHECK(user != session.value("SELECT current_user"));
  CHECK(rows[0].at("who") == user + " (outboxd dead retry, 127.0.0.1)");
  CHECK(rows[0].at("what") == "retry");
  CHECK(rows[0].at("selection") == fmt::format("--event-type {} --since 2h", on.key()));
  CHECK(rows[0].at("events") == 2'500);
  CHECK(rows[0].at("reason") == "ticket 4711");
  CHECK(rows[1].at("what") == "replay");
  CHECK(rows[1].at("selection") == "--aggregate order/1 --aggregate 'order/it'\\''s 2'");
  CHECK(rows[1].at("events") == 1);
  CHECK(rows[1].at("reason").is_null());
  CHECK(rows[2].at("what") == "discard");
  CHECK(rows[2].at("events") == 1);
  CHECK(rows[3].at("what") == "prune");
  CHECK(rows[3].at("who") == user + " (outboxd prune, 127.0.0.1)");
  CHECK(rows[3].at("selection") == "--older-than 7d");
  CHECK(rows[3].at("events") == 1);
  CHECK(rows[3].at("detail").at("processed_events") == 1);
  CHECK(rows[4].at("selection") == "--all");  // it found nothing, and that is told, too
  CHECK(rows[4].at("events") == 0);
}

TEST_CASE("a dry run leaves no row, and a reason without words is refused") {
  const stage on;
  const operator_desk desk{on};
  auto session = on.connect();
  add_dead(session, on);
  for (const auto* command : {"retry", "discard"}) desk.text({"dead", command, "--all", "--dry-run"});
  desk.text({"replay", "--all", "--dry-run"});
  desk.text({"prune", "--older-than", "1d", "--dry-run"});
  for (const auto& reason : {std::string(" "), std::string(1'001, 'x')}) {
    const auto refused = desk.run({"dead", "retry", "--all", "--reason", reason});
    CHECK_MESSAGE(refused.exited(2), refused.text());
    CHECK_MESSAGE(refused.says("--reason"), refused.text());
  }
  CHECK(audit_of(on).empty());
  CHECK(on.count("dead") == 1);
}

TEST_CASE("what is discarded is kept as JSON, without its payload and the values of its headers") {
  const stage on;
  const operator_desk desk{on};
  auto session = on.connect();
  add_many(session, on, "dead", 1'200);
  session.exec("UPDATE outbox.event SET last_error = repeat('ä', 100000) WHERE aggregate_id = '7'");
  const auto id = session.value("SELECT id FROM outbox.event WHERE aggregate_id = '7'");
  desk.text({"dead", "discard", "--event-type", on.key()});
  CHECK(on.count("dead") == 0);
  CHECK(session.number("SELECT count(*) FROM outbox.discarded AS d JOIN outbox.audit AS a ON a.id = d.audit"
                       " WHERE a.what = 'discard' AND a.events = 1200") == 1'200);
  const auto kept =
      nlohmann::json::parse(session.value("SELECT event FROM outbox.discarded WHERE id = $1::uuid", {id}));
  CHECK(kept.at("id") == id);
  CHECK(kept.at("aggregate_id") == "7");
  CHECK(kept.at("event_type") == on.key());
  CHECK(kept.at("header_names") == nlohmann::json{"token"});
  CHECK(kept.at("last_error").get<std::string>().size() == 2'000);
  CHECK(session.number("SELECT count(*) FROM outbox.discarded WHERE event::text ~ 'secret|hidden'") == 0);
}

TEST_CASE("a caller of the functions leaves evidence, too, in the same transaction") {
  const stage on;
  const login user{"outbox_operator"};
  auto admin = on.connect();
  const auto id = add_dead(admin, on);
  database session{user.url(on) + "?application_name=psql"};
  session.exec("BEGIN");
  CHECK(session.number("SELECT outbox.dead_discard(ARRAY[$1::uuid])", {id}) == 1);
  CHECK(session.number("SELECT count(*) FROM outbox.audit") == 1);
  session.exec("ROLLBACK");
  CHECK(audit_of(on).empty());
  CHECK(on.count("dead") == 1);
  CHECK(session.number("SELECT outbox.dead_retry(ARRAY[$1::uuid])", {id}) == 1);
  CHECK(session.number("SELECT outbox.dead_retry(ARRAY[$1::uuid])", {id}) == 0);  // no longer dead
  CHECK(session.number("SELECT outbox.prune_published(now(), 10)") == 0);
  const auto rows = audit_of(on);
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].at("who").get<std::string>().ends_with(" (psql, 127.0.0.1)"));
  CHECK(rows[0].at("selection") == "--id " + id);
  CHECK(rows[0].at("events") == 1);
}

TEST_CASE("an operator reads the audit and cannot write, change or borrow a row of it") {
  const stage on;
  const login user{"outbox_operator"};
  const login other{"outbox_operator"};
  auto admin = on.connect();
  const auto id = add_dead(admin, on);
  database third{other.url(on)};
  third.exec("SELECT outbox.audit_begin('retry', '--all')");  // it has a row of its own, an older one
  database session{user.url(on)};
  const auto audit = session.value("SELECT outbox.audit_begin('retry', '--all')");
  for (const auto& sql :
       {std::string("INSERT INTO outbox.audit (who, what) VALUES ('me', 'retry')"),
        std::string("UPDATE outbox.audit SET who = 'somebody else'"), std::string("DELETE FROM outbox.audit"),
        std::string("DELETE FROM outbox.discarded"), std::string("TRUNCATE outbox.audit CASCADE"),
        std::string("SELECT outbox.audit_write('retry', '--all', 1000)"),
        std::string("SELECT outbox.audit_count(1, 'retry', '--all', 1000)"),
        std::string("SELECT outbox.requeue('{}', 'dead')"),
        fmt::format("SELECT outbox.dead_discard(ARRAY['{}'::uuid], {})", id, audit)})
    CHECK_MESSAGE(refusal(session, sql) == insufficient_privilege, sql);
  CHECK(refusal(session, "SELECT outbox.audit_begin('pause', '--all')") == "22023");
  CHECK(refusal(third, fmt::format("SELECT outbox.dead_retry(ARRAY['{}'::uuid], {})", id, audit)) ==
        insufficient_privilege);
  CHECK(on.count("dead") == 1);
  // A role that one has put on hides nobody.
  admin.exec(
      "BEGIN; SET LOCAL ROLE outbox_operator; SELECT outbox.audit_begin('prune', '--older-than 1d'); COMMIT");
  CHECK(audit_of(on).back().at("who").get<std::string>().starts_with(admin.value("SELECT session_user") +
                                                                     " ("));
}

TEST_CASE("a row that an earlier session of the same user and program has opened is closed") {
  const stage on;
  const login user{"outbox_operator"};
  auto admin = on.connect();
  const auto id = add_dead(admin, on);
  const auto begin = [](database& session) {
    return session.value("SELECT outbox.audit_begin('retry', '--all')");
  };
  const auto retry = [&](const std::string& audit) {
    return fmt::format("SELECT outbox.dead_retry(ARRAY['{}'::uuid], {})", id, audit);
  };
  const auto url = user.url(on) + "?application_name=psql";
  const auto old = [&] {
    database session{url};
    return begin(session);
  }();
  database session{url};
  CHECK(refusal(session, retry(old)) == insufficient_privilege);
  const auto first = begin(session);
  CHECK(refusal(session, retry(old)) == insufficient_privilege);
  session.exec("DEALLOCATE ALL; PREPARE outboxd_audit AS SELECT 1");  // looks younger, and never older
  CHECK(refusal(session, retry(old)) == insufficient_privilege);
  CHECK(refusal(session, retry(first)) == insufficient_privilege);
  CHECK(on.count("dead") == 1);
  const auto second = begin(session);
  CHECK(session.number(retry(second)) == 1);
  const auto rows = audit_of(on);
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].at("who") == rows[2].at("who"));
  CHECK(rows[0].at("events") == 0);
  CHECK(rows[2].at("events") == 1);
}

TEST_CASE("the commands need no right to change events by hand") {
  const stage on;
  const operator_desk desk{on};
  auto session = on.connect();
  session.exec(
      "REVOKE UPDATE, DELETE ON outbox.event, outbox.processed_event FROM outbox_operator;"
      "REVOKE UPDATE (status, attempts, deferrals, available_at, published_at, last_error, last_error_code)"
      " ON outbox.event FROM outbox_operator");
  const auto id = add_dead(session, on);
  add_dead(session, on, "2");
  add_many(session, on, "published", 2);
  CHECK(desk.json({"dead", "discard", "--id", id}).at("changed") == 1);
  CHECK(desk.json({"dead", "retry", "--all"}).at("changed") == 1);
  CHECK(desk.json({"replay", "--aggregate", "order/1"}).at("changed") == 1);
  CHECK(desk.json({"prune", "--older-than", "0s"}).at("published_events") == 1);
}

TEST_CASE("an event that PostgreSQL cannot describe is discarded all the same") {
  const stage on;
  const operator_desk desk{on};
  auto session = on.connect();
  const auto id = add_dead(session, on);
  session.exec(
      "ALTER TABLE outbox.event DISABLE TRIGGER ALL; DROP INDEX outbox.event_refused;"
      "UPDATE outbox.event SET headers = '[]'");  // no keys can be listed of it
  CHECK(desk.json({"dead", "discard", "--id", id}).at("changed") == 1);
  const auto kept = nlohmann::json::parse(session.value("SELECT event FROM outbox.discarded"));
  CHECK(kept.at("id") == id);
  CHECK(kept.at("unreadable") == "22023");
}

}  // namespace outboxd::test::audit_test
