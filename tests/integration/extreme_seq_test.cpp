// Numbers at the ends of their types: they are counted, sent and shown, and a conversion to partitions that
// cannot be done leaves nothing behind that writers feel.
#include <doctest/doctest.h>

#include "partitioned.hpp"
#include "stage.hpp"

namespace outboxd::test::extreme_seq_test {
namespace {

void add_at(database& session, const stage& on, const std::string& seq) {
  session.exec(
      fmt::format("INSERT INTO outbox.event (seq, aggregate_type, aggregate_id, event_type, payload)"
                  " VALUES ({}, 'order', '1', '{}', '{{}}')",
                  seq, on.key()));
}

std::int64_t bounds_left(database& session) {
  return session.number("SELECT count(*) FROM pg_constraint WHERE conname = 'event_in_first_partition'");
}

}  // namespace

TEST_CASE("events at both ends of seq go out, and status counts them") {
  const unpartitioned_stage on;
  auto session = on.connect();
  for (const std::string seq : {"-9223372036854775807", "9223372036854775807", "0"}) add_at(session, on, seq);
  auto status = run_outboxd({"status", "--json"}, on.variables());
  CHECK_MESSAGE(status.exited(0), status.text());
  relay running{on};
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  CHECK(report.delivered == 3);
  running.stop();
  status = run_outboxd({"status", "--json"}, on.variables());
  CHECK_MESSAGE(status.exited(0), status.text());
}

TEST_CASE("migrate --partition says that there is no room above an event near the end of seq") {
  const unpartitioned_stage on;
  auto session = on.connect();
  for (const std::string seq : {"9223372036854775807", "9223372036854775806", "9223372019674906624"}) {
    CAPTURE(seq);
    add_at(session, on, seq);
    const auto refused = run_outboxd({"migrate", "--partition", "daily"}, on.variables());
    CHECK(refused.exited(1));
    CHECK_MESSAGE(refused.says(fmt::format("an event has the seq {}", seq)), refused.text());
    CHECK(bounds_left(session) == 0);
    add_at(session, on, "DEFAULT");
    session.exec("DELETE FROM outbox.event WHERE seq = " + seq);
  }
  session.exec("SELECT setval('outbox.event_seq', 9223372036854775807)");
  const auto refused = run_outboxd({"migrate", "--partition", "daily"}, on.variables());
  CHECK(refused.exited(1));
  CHECK_MESSAGE(refused.says("the sequence of seq is at 9223372036854775807"), refused.text());
  session.exec("SELECT setval('outbox.event_seq', 10)");
  add_at(session, on, "-9223372036854775807");
  const auto done = run_outboxd({"migrate", "--partition", "daily"}, on.variables());
  CHECK_MESSAGE(done.exited(0), done.text());
  add_at(session, on, "DEFAULT");
  session.exec("SELECT setval('outbox.event_seq', 9223372036854775807)");
  CHECK(session.value("SELECT what FROM outbox.rotate_partition()") == "mended");
  add_at(session, on, "DEFAULT");
  CHECK(run_outboxd({"status", "--json"}, on.variables()).exited(0));
}

TEST_CASE("a way to partitions that ends at its last step leaves no constraint behind") {
  const unpartitioned_stage on;
  auto session = on.connect();
  session.exec(
      "CREATE FUNCTION public.refuse() RETURNS event_trigger LANGUAGE plpgsql AS"
      " $$ BEGIN RAISE EXCEPTION 'no tables today'; END $$;"
      "CREATE EVENT TRIGGER refuse ON ddl_command_start WHEN TAG IN ('CREATE TABLE')"
      " EXECUTE FUNCTION public.refuse()");
  const auto refused = run_outboxd({"migrate", "--partition", "daily"}, on.variables());
  CHECK(refused.exited(1));
  CHECK_MESSAGE(refused.says("no tables today"), refused.text());
  CHECK(bounds_left(session) == 0);
  session.exec("DROP EVENT TRIGGER refuse");
  CHECK(run_outboxd({"migrate", "--partition", "daily"}, on.variables()).exited(0));
}

}  // namespace outboxd::test::extreme_seq_test
