// Databases that are not UTF-8: what can be said in UTF-8 goes out so, what cannot is dead, and nobody else
// notices.
#include <doctest/doctest.h>

#include <cstdlib>

#include "operator_desk.hpp"
#include "stage.hpp"

namespace outboxd::test::encoding_test {
namespace {

const arguments impatient{"--retry-give-up-after", "1s"};

// The tests' own sessions write and read UTF-8, whatever the database has.
void speak_utf8() {
  ::setenv("PGCLIENTENCODING", "UTF8", 1);
}

void insert(database& session, const std::string& aggregate, const std::string& key,
            const std::optional<std::string>& exchange = std::nullopt) {
  session.exec(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload, headers, exchange)"
      " SELECT 'order', $1, $2, jsonb_build_object('name', $1::text), jsonb_build_object('name', $1::text), "
      "$3"
      " FROM generate_series(1, 5)",
      {aggregate, key, exchange});
}

void check_encoding(const std::string& encoding, const std::string& word) {
  CAPTURE(encoding);
  const stage on{{.encoding = encoding}};
  auto session = on.connect();
  REQUIRE(*session.exec("SHOW server_encoding").at(0)[0] == encoding);
  insert(session, word, on.key());
  insert(session, "nobody", on.key(), "no " + word);
  insert(
      session, "cut", on.key(), "nn" + [&] {
        std::string out;
        while (out.size() + word.size() < 250) out += word;
        return out;
      }());
  relay running{on, impatient};
  const auto report = on.check_all();
  CHECK_MESSAGE(report.sound(), report.words());
  CHECK(report.delivered == 5);
  CHECK(report.dead == 10);
  CHECK(session.number("SELECT count(*) FROM outbox.event WHERE last_error LIKE '%404 NOT_FOUND%no " + word +
                       "%'") == 5);
  running.stop();
}

// What an operator sees of one dead event that cannot be read, and of one that can.
void check_seen(const stage& on, const std::string& bad, const std::string& good) {
  const operator_desk desk{on};
  const auto listed = desk.json({"dead", "list"});
  REQUIRE(listed.size() == 2);
  CHECK(listed[0].at("id") == bad);
  CHECK(listed[0].at("last_error_code") == "unreadable");
  CHECK(listed[0].at("aggregate_id").is_null());
  CHECK(listed[0].at("unreadable") == true);
  CHECK(listed[1].at("id") == good);
  CHECK(listed[1].at("aggregate_id") == "good");
  CHECK_FALSE(listed[1].contains("unreadable"));
  CHECK(desk.json({"dead", "retry", "--all", "--dry-run"}).at("events").size() == 2);
  for (const auto& words : {arguments{"dead", "list"}, arguments{"dead", "discard", "--all", "--dry-run"}}) {
    const auto table = desk.text(words);
    for (const std::string& part :
         {bad, good, std::string("order/good"), std::string("cannot read all of 1 of these events")})
      CHECK_MESSAGE(table.find(part) != std::string::npos, table);
  }
  const auto shown = desk.json({"dead", "show", "--id", bad, "--payload"});
  CHECK(shown.at("aggregate_id").is_null());
  CHECK(shown.at("payload") == nlohmann::json::object());
  const auto text = desk.text({"dead", "show", "--id", bad});
  CHECK_MESSAGE(text.find("cannot read all of this event") != std::string::npos, text);
  const auto traced = desk.json({"trace", "--id", bad});
  CHECK(traced.at("state") == "dead");
  CHECK(traced.at("last_error_code") == "unreadable");
  CHECK(desk.text({"trace", "--id", bad}).find("(unreadable)") != std::string::npos);
}

}  // namespace

TEST_CASE("events of a database in another encoding go out in UTF-8, and reasons are written in its own") {
  speak_utf8();
  check_encoding("LATIN1", "é");
  check_encoding("WIN1252", "œ");
  check_encoding("EUC_JP", "日本");
}

TEST_CASE(
    "in a database without an encoding a row with bytes that are no UTF-8 is dead, and all others go out") {
  speak_utf8();
  const stage on{{.encoding = "SQL_ASCII"}};
  auto session = on.connect();
  insert(session, "before", on.key());
  session.exec(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload)"
      " VALUES ('order', 'a' || E'\\xff', $1, '{}')",
      {on.key()});
  insert(session, "after", on.key());
  relay running{on, impatient};
  on.await_drained();
  const auto bad =
      session.value("SELECT id FROM outbox.event WHERE status = 'dead' AND last_error_code = 'unreadable'");
  check_seen(on, bad, add_dead(session, on, "good"));
  session.exec("DELETE FROM outbox.event WHERE status = 'dead'");  // the checker could not read it, either
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  CHECK(report.delivered == 10);
  running.stop();
}

}  // namespace outboxd::test::encoding_test
