// Databases that are not UTF-8: what can be said in UTF-8 goes out so, what cannot is dead, and nobody else
// notices.
#include <doctest/doctest.h>

#include <cstdlib>

#include "stage.hpp"

namespace outboxd::test {
namespace {

const arguments two_attempts{"--retry-schedule", "20ms"};

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
  relay running{on, two_attempts};
  const auto report = on.check_all();
  CHECK_MESSAGE(report.sound(), report.words());
  CHECK(report.delivered == 5);
  CHECK(report.dead == 10);
  CHECK(session.number("SELECT count(*) FROM outbox.event WHERE last_error LIKE '%404 NOT_FOUND%no " + word +
                       "%'") == 5);
  running.stop();
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
  relay running{on, two_attempts};
  on.await_drained();
  CHECK(session.number(
            "SELECT count(*) FROM outbox.event WHERE status = 'dead' AND last_error_code = 'unreadable'") ==
        1);
  session.exec("DELETE FROM outbox.event WHERE status = 'dead'");  // the checker could not read it, either
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  CHECK(report.delivered == 10);
  running.stop();
}

}  // namespace outboxd::test
