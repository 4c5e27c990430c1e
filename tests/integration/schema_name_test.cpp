// Odd schema names migrate and relay, and two outboxes in one database do not meet.
#include <doctest/doctest.h>

#include "stage.hpp"

namespace outboxd::test::schema_name_test {
namespace {

std::string event_table(database& session, const stage& on) {
  return session.value("SELECT format('%I.event', $1::text)", {on.schema()});
}

void insert(database& session, const stage& on, int count) {
  session.exec(fmt::format("INSERT INTO {} (aggregate_type, aggregate_id, event_type, payload)"
                           " SELECT 'order', n % 7, $1, '{{}}' FROM generate_series(1, $2::int) AS n",
                           event_table(session, on)),
               {on.key(), std::to_string(count)});
}

}  // namespace

TEST_CASE("odd schema names migrate and relay by notification") {
  const std::vector<std::string> names{"Outbox",
                                       "with \"quotes\" and 'apostrophes'",
                                       "sp ace.dot;semi--colon/*",
                                       R"(back\slash \n E'')",
                                       "größe 😀",
                                       std::string(63, 'x'),
                                       "select",
                                       "@schema@ {} %s $1 $$",
                                       "-- x"};
  for (const auto& name : names) {
    CAPTURE(name);
    const stage on{{.schema = name}};
    relay running{on, no_sweep};
    running.await_connected();
    auto session = on.connect();
    insert(session, on, 20);
    const auto schema = session.value("SELECT quote_ident($1)", {name});
    session.exec(fmt::format("SELECT {}.emit('order', '1', $1, '{{}}')", schema), {on.key()});
    const auto report = on.check_all();
    CHECK_MESSAGE(report.exact(), report.words());
    CHECK(report.delivered == 21);
    running.stop();
    const auto again = run_outboxd({"migrate"}, on.variables());
    CHECK_MESSAGE(again.says("up to date"), again.text());
  }
}

TEST_CASE("schema names that PostgreSQL cannot have are refused") {
  for (const auto& name : {std::string(64, 'x'), std::string("pg_outbox"), std::string("$outboxd$")}) {
    const auto refused = run_outboxd({"migrate", "--schema", name});
    CHECK(refused.exited(2));
    CHECK(refused.lines.size() == 1);
    CHECK_MESSAGE(refused.says("outbox.schema"), refused.text());
  }
}

TEST_CASE("two outboxes in one database have their own relays and leads") {
  const stage on;
  const environment second{{"OUTBOXD_OUTBOX_SCHEMA", "second"}};
  auto variables = on.variables();
  variables["OUTBOXD_OUTBOX_SCHEMA"] = "second";
  REQUIRE(run_outboxd({"migrate"}, variables).exited(0));
  auto session = on.connect();
  session.exec(
      "INSERT INTO second.event (aggregate_type, aggregate_id, event_type, payload)"
      " SELECT 'order', n, $1, '{}' FROM generate_series(1, 500) AS n",
      {on.key()});
  on.add_events(5, 100);
  {
    relay first{on};
    on.await_drained();
    first.stop();
  }
  CHECK(session.number("SELECT count(*) FROM second.event WHERE status = 'pending'") == 500);
  relay other{on, {}, second};
  eventually("the second outbox is drained", [&] {
    return session.number("SELECT count(*) FROM second.event WHERE status = 'published'") == 500;
  });
  other.stop();
}

}  // namespace outboxd::test::schema_name_test
