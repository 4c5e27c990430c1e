// Columns of the table that somebody changes beside a running relay: what goes out is what the row says, in
// the type that it has, or nothing does.
#include <doctest/doctest.h>

#include "stage.hpp"

namespace outboxd::test::changed_columns_test {

TEST_CASE(
    "a payload that becomes bytea beside a running relay goes out as bytes, and not as their hex text") {
  for (const char* type : {"jsonb", "json", "text"}) {
    CAPTURE(type);
    const stage on{{.payload = type}};
    auto session = on.connect();
    relay running{on};
    on.await_leader();
    const auto insert = [&](const char* payload) {
      session.exec(fmt::format("INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload)"
                               " VALUES ('order', '1', $1, {})",
                               payload),
                   {on.key()});
    };
    insert("'{}'");
    on.await_published(1);
    session.exec("ALTER TABLE outbox.event ALTER payload TYPE bytea USING convert_to(payload::text, 'UTF8')");
    insert("'\\x00ff'::bytea");
    on.await_published(2);
    consumer reader{on.queue()};
    const auto got = reader.take(2, time_limit);
    CHECK(got[0].body == "{}");
    CHECK(got[1].body == std::string("\0\xff", 2));
    CHECK(got[1].properties.content_type == "application/octet-stream");
    running.stop();
  }
}

TEST_CASE("a payload of bytes that becomes text beside a running relay goes out as text") {
  const stage on{{.payload = "bytea"}};
  auto session = on.connect();
  relay running{on};
  on.await_leader();
  session.exec("ALTER TABLE outbox.event ALTER payload TYPE text USING convert_from(payload, 'UTF8')");
  session.exec(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload)"
      " VALUES ('order', '1', $1, 'a\\b')",
      {on.key()});
  on.await_published(1);
  consumer reader{on.queue()};
  const auto got = reader.next(time_limit);
  REQUIRE(got);
  CHECK(got->body == "a\\b");
  CHECK(got->properties.content_type == "text/plain");
  running.stop();
}

TEST_CASE("an event whose payload is NULL, in a column that allows it by now, is dead and says so") {
  const stage on;
  auto session = on.connect();
  session.exec("ALTER TABLE outbox.event ALTER payload DROP NOT NULL");
  relay running{on};
  on.await_leader();
  session.exec(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload)"
      " VALUES ('order', '1', $1, NULL), ('order', '2', $1, '{}')",
      {on.key()});
  eventually(
      "it is dead", [&] { return on.count("dead") == 1; }, time_limit);
  on.await_published(1);
  CHECK(
      session.value("SELECT last_error_code || ': ' || last_error FROM outbox.event WHERE status = 'dead'") ==
      "unencodable: its payload or its headers are NULL: the column has lost the NOT NULL that `outboxd "
      "migrate` gives it");
  running.stop();
}

}  // namespace outboxd::test::changed_columns_test
