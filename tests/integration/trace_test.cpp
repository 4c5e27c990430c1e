// outboxd trace: each state in which an event may be, and why.
#include <doctest/doctest.h>

#include "operator_desk.hpp"
#include "stage.hpp"

namespace outboxd::test::trace_test {
namespace {

std::string emit(database& session, const std::string& type, const std::string& aggregate = "1") {
  return session.value("SELECT outbox.emit('order', $1, $2, '{\"secret\": 1}', '{\"token\": \"hidden\"}')",
                       {aggregate, type});
}

std::string why(const nlohmann::json& traced) {
  return traced.at("why").get<std::string>();
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("trace tells an event that is published, dead, scheduled or not led, without its payload") {
  const stage on;
  const operator_desk desk{on};
  auto session = on.connect();
  const auto id = emit(session, on.key());
  auto traced = desk.json({"trace", "--id", id});
  CHECK(traced.at("state") == "unled");
  CHECK(has(why(traced), "no relay leads its shard 0"));
  const auto later = session.value(
      "SELECT outbox.emit('order', '2', $1, '{}', available_at => now() + interval '1 h')", {on.key()});
  traced = desk.json({"trace", "--id", later});
  CHECK(traced.at("state") == "scheduled");
  CHECK(traced.at("due_in_seconds") > 3'000);
  const auto dead = add_dead(session, on, "3");
  traced = desk.json({"trace", "--id", dead});
  CHECK(traced.at("state") == "dead");
  CHECK(has(why(traced), "after 3 failed attempts: the reason"));
  relay running{on, no_sweep};
  on.await_published(1);
  traced = desk.json({"trace", "--id", id});
  CHECK(traced.at("state") == "published");
  CHECK(traced.at("published_at").is_string());
  const auto text = desk.text({"trace", "--id", id});
  CHECK(has(text, "order/1"));
  for (const auto* hidden : {"secret", "token", "hidden"}) CHECK_FALSE(has(text, hidden));
  running.stop();
}

TEST_CASE("trace names the event that another one waits behind, with its reason") {
  const stage on;
  const operator_desk desk{on};
  auto session = on.connect();
  const auto first = emit(session, "unbound-" + on.queue());
  const auto second = emit(session, on.key());
  auto traced = desk.json({"trace", "--id", second});
  CHECK(traced.at("state") == "behind");
  CHECK(traced.at("behind").at("id") == first);
  CHECK(has(why(traced), "which is not published yet"));
  relay running{on};
  eventually(
      "the second one is parked",
      [&] { return session.number("SELECT count(*) FROM outbox.event WHERE exception = 'parked'") == 1; },
      time_limit);
  traced = desk.json({"trace", "--id", first});
  CHECK(traced.at("state") == "backing_off");
  CHECK(has(why(traced), "waits for exchange \"outbox\" with key unbound-" + on.queue()));
  CHECK(traced.at("waits_for").at("exchange") == "outbox");
  CHECK(traced.at("first_failed_at").is_string());
  CHECK(traced.at("last_error_code") == "returned");
  CHECK(traced.at("behind").is_null());
  traced = desk.json({"trace", "--id", second});
  CHECK(traced.at("state") == "behind");
  CHECK(traced.at("behind").at("id") == first);
  CHECK(traced.at("behind").at("last_error_code") == "returned");
  CHECK(has(why(traced), "which waits for exchange \"outbox\""));
  running.stop();
}

TEST_CASE("trace tells who has locked the row of an event") {
  const stage on;
  const operator_desk desk{on};
  auto session = on.connect();
  const auto id = emit(session, on.key());
  database other{on.database_url() + "?application_name=backup"};
  other.exec("BEGIN; SELECT FROM outbox.event FOR UPDATE");
  relay running{on, {"--relay-sweep-interval", "100ms"}};
  on.await_leader();
  auto traced = desk.json({"trace", "--id", id});
  CHECK(traced.at("state") == "locked");
  CHECK(has(why(traced), "application backup"));
  other.exec("COMMIT");
  on.await_published(1);
  running.stop();
}

TEST_CASE("an event that is not there is said to be so, and who discarded it if somebody did") {
  const stage on;
  const operator_desk desk{on};
  auto session = on.connect();
  const auto open = on.connect();
  const std::string unknown = "00000000-0000-0000-0000-000000000000";
  auto result = desk.run({"trace", "--id", unknown});
  CHECK_MESSAGE(result.exited(1), result.text());
  CHECK_MESSAGE(result.says("there is no event " + unknown), result.text());
  result = desk.run({"trace", "--id", unknown, "--json"});
  CHECK(result.exited(1));
  CHECK_MESSAGE(result.says("\"state\": \"unknown\""), result.text());
  auto writer = on.connect();
  writer.exec("BEGIN");
  const auto uncommitted = emit(writer, on.key());
  CHECK(desk.run({"trace", "--id", uncommitted}).exited(1));
  const auto dead = add_dead(session, on);
  desk.text({"dead", "discard", "--id", dead, "--reason", "ticket 7"});
  result = desk.run({"trace", "--id", dead});
  CHECK(result.exited(1));
  CHECK_MESSAGE(result.says("discarded it at"), result.text());
  CHECK_MESSAGE(result.says("ticket 7"), result.text());
  for (const auto& words : {arguments{"trace"}, arguments{"trace", "--id", "4711"}})
    CHECK(desk.run(words).exited(2));
}

}  // namespace outboxd::test::trace_test
