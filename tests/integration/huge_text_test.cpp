// Rows that are small as they are stored and huge as texts: one that no broker takes is dead, and nobody
// waits for it, nor for what takes PostgreSQL too long.
#include <doctest/doctest.h>

#include "operator_desk.hpp"
#include "stage.hpp"

namespace outboxd::test::huge_text_test {
namespace {

// 67 kB, 1 kB of them stored, and 550,204,200 digits.
constexpr const char* numbers = "('[' || repeat('1e131000,', 4199) || '1e131000]')::jsonb";

// PostgreSQL measures such a text in a second, on a machine with other work in many of them: the relay gives
// it half of its claim_timeout.
const auto patient = 2 * time_limit;
const arguments patiently{"--relay-claim-timeout", "10m"};

std::string insert(database& session, const stage& on, const std::string& aggregate,
                   const std::string& payload, const std::string& headers = "'{}'") {
  return session.value(
      fmt::format("INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload, headers)"
                  " VALUES ('order', $1, $2, {}, {}) RETURNING id",
                  payload, headers),
      {aggregate, on.key()});
}

}  // namespace

TEST_CASE("an event whose text no broker takes is dead with its size, and the others go out") {
  const stage on;
  auto session = on.connect();
  insert(session, on, "first", "'{}'");
  const auto bad = insert(session, on, "bad", numbers);
  insert(session, on, "bad", "'{}'");
  const auto worse =
      insert(session, on, "worse", "'{}'", "jsonb_build_object('n', " + std::string(numbers) + ")");
  // One number behind the point of which there are more digits than it takes bytes.
  const auto fine = insert(session, on, "fine", "to_jsonb(('1.' || repeat('0', 16000))::numeric)");
  relay running{on, patiently};
  on.await_drained(patient);
  CHECK(on.count("published") == 3);
  CHECK(session.value("SELECT status FROM outbox.event WHERE id = $1", {fine}) == "published");
  for (const std::string& id : {bad, worse}) {
    const auto row =
        session.exec("SELECT status, last_error_code, last_error FROM outbox.event WHERE id = $1", {id})
            .at(0);
    CHECK(row[0] == "dead");
    CHECK(row[1] == "unreadable");
    CHECK_MESSAGE(row[2]->find("its texts have 5502") != std::string::npos, *row[2]);
    CHECK_MESSAGE(row[2]->find("RabbitMQ accepts 536870912 at most") != std::string::npos, *row[2]);
  }
  running.stop();

  const operator_desk desk{on};
  CHECK(desk.json({"dead", "list"}).size() == 2);
  for (const std::string& id : {bad, worse}) {
    CHECK(desk.text({"trace", "--id", id}).find(id) != std::string::npos);
    CHECK(desk.text({"dead", "show", "--id", id}).find("--payload") != std::string::npos);
    const auto shown = desk.text({"dead", "show", "--id", id, "--payload"});
    CHECK_MESSAGE(shown.find("not shown: payload and headers have 55") != std::string::npos, shown);
  }
  desk.text({"dead", "discard", "--id", bad, "--yes"});
}

TEST_CASE("a document that is nested too deeply to be measured goes out beside one that is huge") {
  const stage on;
  auto session = on.connect();
  const auto deep = insert(session, on, "deep", "(repeat('[', 6000) || '1' || repeat(']', 6000))::jsonb");
  const auto bad = insert(session, on, "bad", numbers);
  // Half of what a document of this depth needs to be gone through.
  session.exec(fmt::format("ALTER DATABASE {} SET max_stack_depth = '1MB'", on.database_name()));
  relay running{on, patiently};
  on.await_drained(patient);
  CHECK(session.value("SELECT status FROM outbox.event WHERE id = $1", {deep}) == "published");
  CHECK(session.value("SELECT status FROM outbox.event WHERE id = $1", {bad}) == "dead");
  running.stop();
}

TEST_CASE("events that grow as texts are fetched a few at a time, and all go out") {
  const stage on;
  auto session = on.connect();
  session.exec(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload)"
      " SELECT 'order', i, $1, to_jsonb(repeat(E'\\x01', 300000)) FROM generate_series(1, 60) AS i",
      {on.key()});
  relay running{on};
  const auto report = on.check_all();
  CHECK_MESSAGE(report.sound(), report.words());
  CHECK(report.delivered == 60);
  CHECK(report.duplicates == 0);
  CHECK(on.count("published") == 60);
  running.stop();
}

}  // namespace outboxd::test::huge_text_test
