// replay to one consumer, at a rate, and not by mistake; dead events by their reason.
#include <doctest/doctest.h>

#include <algorithm>
#include <future>
#include <map>

#include "operator_desk.hpp"
#include "stage.hpp"

namespace outboxd::test::replay_test {
namespace {

void add_many(database& session, const stage& on, const std::string& status, int count,
              const std::string& code = "returned") {
  session.exec(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload, status, exception,"
      " published_at, last_error_code, last_error)"
      " SELECT 'order', n, $1, '{}', $2::outbox.event_status, CASE $2 WHEN 'dead' THEN 'dead' "
      "END::outbox.event_exception,"
      " CASE $2 WHEN 'published' THEN now() END, nullif($4, 'none'), 'because of ' "
      "|| $4"
      " FROM generate_series(1, $3::int) AS n",
      {on.key(), status, std::to_string(count), code});
}

}  // namespace

TEST_CASE(
    "a replay to another exchange and key reaches the new consumer alone, and leaves the event's own ones") {
  const stage on;
  const operator_desk desk{on};
  auto session = on.connect();
  const stage new_consumer;  // whose queue gets what has its own key
  on.add_events(3, 1);
  relay running{on, no_sweep};
  on.await_published(3);
  const auto first = consumer{on.queue()}.take(3, time_limit);
  const auto done = desk.json({"replay", "--aggregate", "order/1", "--to-exchange", "outbox",
                               "--to-routing-key", new_consumer.key()});
  CHECK(done.at("changed") == 3);
  consumer reader{new_consumer.queue()};
  const auto again = reader.take(3, time_limit);
  for (std::size_t i = 0; i < first.size(); ++i) {
    CHECK(again[i].message_id() == first[i].message_id());
    CHECK(again[i].body == first[i].body);
  }
  on.await_published(3);
  CHECK(session.number("SELECT count(*) FROM outbox.event WHERE exchange IS NULL AND routing_key IS NULL") ==
        3);
  CHECK(session.value("SELECT selection FROM outbox.audit") ==
        fmt::format("--aggregate order/1 --to-exchange outbox --to-routing-key {}", new_consumer.key()));
  // To a queue, through the default exchange: the queue would get it through the other one as well. Then
  // without a destination: as the first time.
  CHECK(desk.json({"replay", "--all", "--to-exchange", "", "--to-routing-key", new_consumer.queue()})
            .at("changed") == 3);
  for (const auto& message : reader.take(3, time_limit)) CHECK(message.exchange.empty());
  on.await_published(3);
  CHECK(desk.json({"replay", "--all"}).at("changed") == 3);
  consumer{on.queue()}.take(3, time_limit);
  on.await_published(3);
  running.stop();
}

// A selection is made before: meanwhile others may have changed the status.
TEST_CASE("retry and discard change dead events only, and replay published ones, whatever ids they get") {
  const stage on;
  auto session = on.connect();
  for (const auto* status : {"pending", "published", "dead"}) add_many(session, on, status, 1);
  session.exec("SELECT outbox.emit('order', '2', 'later', '{}', available_at => now() + interval '1 hour')");
  for (const auto& [function, status] : std::map<std::string, std::string>{
           {"dead_retry", "dead"}, {"dead_discard", "dead"}, {"replay", "published"}}) {
    CAPTURE(function);
    session.exec("BEGIN");
    CHECK(session.number(fmt::format("SELECT outbox.{}(ARRAY(SELECT id FROM outbox.event))", function)) == 1);
    CHECK(session.number("SELECT count(*) FROM outbox.event WHERE status = 'pending'") == 2);
    CHECK(session.number(
              "SELECT count(*) FROM outbox.event WHERE available_at > now() + interval '1 minute'") == 1);
    CHECK(session.number(fmt::format("SELECT count(*) FROM outbox.event WHERE status = '{}'", status)) == 0);
    session.exec("ROLLBACK");
  }
}

TEST_CASE("more than a thousand events are replayed, retried or discarded only with --yes") {
  const stage on;
  const operator_desk desk{on};
  auto session = on.connect();
  add_many(session, on, "published", 1'001);
  add_many(session, on, "dead", 1'001);
  for (const auto& words : {arguments{"replay", "--all"}, arguments{"replay", "--since", "1h"},
                            arguments{"dead", "retry", "--all"}, arguments{"dead", "discard", "--all"}}) {
    const auto refused = desk.run(words);
    CHECK_MESSAGE(refused.exited(2), refused.text());
    CHECK_MESSAGE(refused.says("would change 1001 events; confirm with --yes"), refused.text());
  }
  CHECK(on.count("published") == 1'001);
  CHECK(on.count("dead") == 1'001);
  CHECK(session.number("SELECT count(*) FROM outbox.audit") == 0);
  CHECK(desk.json({"dead", "retry", "--all", "--yes"}).at("changed") == 1'001);
  CHECK(desk.json({"replay", "--all", "--yes"}).at("changed") == 1'001);
  session.exec(
      "UPDATE outbox.event SET status = 'published' WHERE seq < (SELECT min(seq) + 1000 FROM outbox.event)");
  CHECK(desk.json({"replay", "--all"}).at("changed") == 1'000);
}

TEST_CASE("a new event does not wait for a replay that fills the memory") {
  const stage on;
  auto session = on.connect();
  constexpr std::size_t rate = 50;
  add_many(session, on, "published", 20 * rate);
  session.exec("UPDATE outbox.event SET status = 'pending'");
  relay running{on, {"--relay-max-rate", std::to_string(rate)}};
  consumer reader{on.queue()};
  reader.take(rate, time_limit);
  session.exec("SELECT outbox.emit('new', '1', $1, '\"new\"')", {on.key()});
  std::size_t before = 0;
  while (reader.take(1, time_limit).front().body == "{}") ++before;
  // The memory has four seconds' worth of events. In the order of reads the new one would be behind them.
  CHECK(before < 3 * rate);
  running.stop();
}

TEST_CASE("a replay at a rate takes its time, and what is published meanwhile is not in its selection") {
  const stage on;
  const operator_desk desk{on};
  auto session = on.connect();
  add_many(session, on, "published", 100);
  const auto before = std::chrono::steady_clock::now();
  process running{{.program = outboxd_binary(),
                   .arguments = {"replay", "--all", "--rate", "10"},
                   .environment = desk.variables(),
                   .log_file = {}}};
  eventually(
      "the first portion is replayed",
      [&] { return session.number("SELECT count(*) FROM outbox.event WHERE status = 'waiting'") > 0; },
      time_limit);
  add_many(session, on, "published", 5);
  CHECK(on.count("published") > 5);  // it is not through
  CHECK(running.wait(time_limit).code == 0);
  // Portions of two: the last one is not before the others have had their time.
  CHECK(std::chrono::steady_clock::now() - before >= 9s);
  const auto lines = running.all_lines();
  CHECK(std::any_of(lines.begin(), lines.end(), [](const std::string& line) {
    return line.starts_with("outboxd: replay: ") && line.ends_with(" of 100 events so far");
  }));
  CHECK(on.count("published") == 5);
  CHECK(on.count("waiting") == 100);
  CHECK(session.number("SELECT events FROM outbox.audit") == 100);
}

TEST_CASE("a rate or a destination that cannot be, or an option without its value, is refused") {
  const stage on;
  const operator_desk desk{on};
  const std::string long_name(256, 'x');
  for (const auto& [words, said] : std::vector<std::pair<arguments, std::string>>{
           {{"replay", "--all", "--rate", "0"}, "--rate '0'"},
           {{"replay", "--all", "--rate", "fast"}, "--rate 'fast'"},
           {{"replay", "--all", "--rate", ""}, "--rate ''"},
           {{"replay", "--all", "--to-exchange", long_name}, "--to-exchange has 256 bytes"},
           {{"replay", "--all", "--to-routing-key", long_name}, "--to-routing-key has 256 bytes"},
           {{"dead", "retry", "--all", "--rate", "5"}, "--rate"},
           {{"dead", "list", "--by", "type"}, "--by 'type'"},
           {{"dead", "list", "--by", ""}, "--by ''"},
           {{"dead", "list", "--limit", ""}, "--limit ''"},
           {{"dead", "retry", "--error-code", ""}, "--error-code is empty"}}) {
    const auto refused = desk.run(words);
    CHECK_MESSAGE(refused.exited(2), refused.text());
    CHECK_MESSAGE(refused.says(said), refused.text());
  }
}

TEST_CASE("dead events are listed by reason, and selected by it") {
  const stage on;
  const operator_desk desk{on};
  auto session = on.connect();
  CHECK(desk.text({"dead", "list", "--by", "reason"}) == "0 dead events");
  add_many(session, on, "dead", 3, "returned");
  add_many(session, on, "dead", 5, "refused");
  add_many(session, on, "dead", 1, "none");
  add_many(session, on, "published", 2, "refused");
  session.exec("UPDATE outbox.event SET created_at = now() - interval '3 h' WHERE aggregate_id = '1'");
  const auto reasons = desk.json({"dead", "list", "--by", "reason"});
  REQUIRE(reasons.size() == 3);
  CHECK(reasons[0].at("code") == "refused");
  CHECK(reasons[0].at("events") == 5);
  CHECK(reasons[0].at("oldest") < reasons[0].at("newest"));
  CHECK(reasons[0].at("example").at("last_error") == "because of refused");
  CHECK(reasons[1].at("code") == "returned");
  CHECK(reasons[2].at("code").is_null());
  const auto text = desk.text({"dead", "list", "--by", "reason", "--until", "2h"});
  CHECK_MESSAGE(text.find("refused   1 ") != std::string::npos, text);
  CHECK(desk.json({"dead", "list", "--error-code", "returned"}).size() == 3);
  CHECK(desk.json({"dead", "list", "--error-code", "returned", "--error-code", "none"}).size() == 4);
  CHECK(desk.json({"dead", "list", "--error-code", "nacked"}).empty());
  CHECK(desk.json({"dead", "discard", "--error-code", "none"}).at("changed") == 1);
  CHECK(desk.json({"dead", "retry", "--code", "refused", "--aggregate", "order/2"}).at("changed") == 1);
  CHECK(on.count("dead") == 7);
}

TEST_CASE("a replay that loses PostgreSQL in the middle of a portion says whether that was committed") {
  constexpr auto replaying = "application_name = 'outboxd replay' AND datname = current_database()";
  const stage on;
  const operator_desk desk{on};
  auto session = on.connect();
  add_many(session, on, "published", 3'000);
  std::future<program_result> command;
  database holder{on.database_url()};
  holder.exec(
      "BEGIN; UPDATE outbox.event SET attempts = 0 WHERE seq = (SELECT min(seq) + 1500 FROM outbox.event)");
  command = std::async(std::launch::async, [&] { return desk.run({"replay", "--all", "--yes"}); });
  eventually(
      "the second portion waits",
      [&] {
        return session.number(
                   fmt::format("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND {}",
                               replaying)) == 1;
      },
      time_limit);
  session.exec(fmt::format("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {}", replaying));
  const auto done = command.get();
  CHECK(done.exited(1));
  CHECK_MESSAGE(done.says("finding out whether the last 1000 events were changed"), done.text());
  CHECK_MESSAGE(done.says("connection to PostgreSQL was lost"), done.text());
  CHECK_MESSAGE(done.says("; 1000 of 3000 events were requeued"), done.text());
  CHECK(session.number("SELECT count(*) FROM outbox.event WHERE status = 'waiting'") == 1'000);
}

}  // namespace outboxd::test::replay_test
