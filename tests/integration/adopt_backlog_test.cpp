// adopt --backlog: rows that are there already are taken over once, in order, while writers write.
#include <doctest/doctest.h>

#include <thread>

#include "adopted.hpp"

namespace outboxd::test::adopt_backlog_test {
namespace {

const arguments backlog = adopt_debezium + arguments{"--backlog"};

// Writers, each with aggregates of its own, whose rows are numbered; half of them wait before they commit.
class source_writers {
 public:
  source_writers(const stage& on, int writers) {
    for (int i = 0; i < writers; ++i)
      threads_.emplace_back([&on, i](const std::stop_token& stop) { write(on, i, stop); });
  }

 private:
  static void write(const stage& on, int writer, const std::stop_token& stop) {
    auto session = on.connect();
    for (int n = 1; !stop.stop_requested(); ++n) {
      session.exec("BEGIN");
      session.exec(
          "INSERT INTO public.outboxevent (aggregatetype, aggregateid, type, payload)"
          " SELECT 'order', $1 || '-' || a, $2, jsonb_build_object('n', $3::int) FROM generate_series(1, 3) "
          "AS a",
          {"w" + std::to_string(writer), on.key(), std::to_string(n)});
      if ((n + writer) % 2 == 0) session.exec("SELECT pg_sleep(0.005)");
      session.exec("COMMIT");
    }
  }
  std::vector<std::jthread> threads_;
};

}  // namespace

TEST_CASE(
    "adopt: a backlog of 30,000 rows is taken over beside writers: nothing lost, nothing twice, in order") {
  for (const std::string mode : {"", "--keep"}) {
    CAPTURE(mode);
    const stage on;
    auto session = on.connect();
    session.exec(debezium_table);
    insert_rows(session, on, 30'000, 1000);
    relay running{on};
    running.await_connected();
    std::int64_t all = 0;
    {
      const source_writers writers{on, 4};
      eventually("writers write",
                 [&] { return session.number("SELECT count(*) FROM outboxevent") > 30'100; });
      const auto said = adopt(on, mode.empty() ? backlog : backlog + arguments{mode});
      CHECK_MESSAGE(said.find("in the order of n") != std::string::npos, said);
      const auto now = session.number("SELECT count(*) FROM outbox.event");
      eventually("and go on",
                 [&] { return session.number("SELECT count(*) FROM outbox.event") > now + 100; });
    }
    all = session.number("SELECT last_value FROM outboxevent_n_seq");  // each of them committed
    const auto report = on.check_all(10min);  // tens of thousands, on a machine that does other things
    CHECK_MESSAGE(report.exact(), report.words());
    CHECK(static_cast<std::int64_t>(report.delivered) == all);
    CHECK(out_of_order(session) == 0);
    CHECK(session.number("SELECT count(*) FROM outboxevent") == (mode.empty() ? 0 : all));
    const auto again = adopt(on, mode.empty() ? backlog : backlog + arguments{mode});
    CHECK(again.find(mode.empty() ? "copied 0 existing rows" : "none is taken again") != std::string::npos);
    CHECK(session.number("SELECT count(*) FROM outbox.event") == all);
    running.stop();
  }
}

TEST_CASE("adopt: a backlog is taken by the mapping and the condition, in the order that is given") {
  const stage on;
  auto session = on.connect();
  session.exec("CREATE TABLE mine (id uuid PRIMARY KEY, at timestamptz NOT NULL, what text, body text)");
  session.exec(
      "INSERT INTO mine SELECT gen_random_uuid(), now() - n * interval '1 s', CASE n % 3 WHEN 0 THEN 'no' "
      "ELSE 'e' END,"
      " json_build_object('n', 31 - n) FROM generate_series(1, 30) AS n");
  const arguments words{"adopt",
                        "--table",
                        "mine",
                        "--map",
                        "id=id",
                        "--map",
                        "event_type=what",
                        "--map",
                        "aggregate_type='mine'",
                        "--map",
                        "aggregate_id=what",
                        "--map",
                        "payload=body",
                        "--null-payload",
                        "refuse",
                        "--unfit",
                        "skip",
                        "--where",
                        "NEW.what <> 'no' -- none",
                        "--backlog"};
  const auto unordered = run_outboxd(words, on.variables());
  CHECK(unordered.exited(2));
  CHECK(unordered.says("--order-by"));
  for (const std::string mode : {"--keep", ""}) {
    const auto said =
        adopt(on, words + arguments{"--order-by", "at"} + (mode.empty() ? arguments{} : arguments{mode}));
    CHECK_MESSAGE((said.find("copied 20 existing rows") != std::string::npos) == (mode == "--keep"), said);
    CHECK(session.number("SELECT count(*) FROM outbox.event") == 20);
    CHECK(session.number("SELECT count(*) FROM mine") == 30);
  }
  CHECK(session.number("SELECT count(*) FROM (SELECT (payload ->> 'n')::int AS n, lag((payload ->> "
                       "'n')::int) OVER (ORDER BY seq)"
                       " AS before FROM outbox.event) AS e WHERE n < before") == 0);
  CHECK(session.number("SELECT count(*) FROM outbox.event AS e JOIN mine AS m ON m.id = e.id") == 20);
}

TEST_CASE("adopt: what was adopted without its backlog gives it up later, unless it was kept meanwhile") {
  const stage on;
  auto session = on.connect();
  session.exec(debezium_table);
  insert_rows(session, on, 5);
  adopt(on, adopt_debezium);
  insert_rows(session, on, 5, 1, 6);
  CHECK(session.number("SELECT count(*) FROM outboxevent") == 5);
  CHECK(adopt(on, backlog).find("copied 5 existing rows") != std::string::npos);
  CHECK(session.number("SELECT count(DISTINCT payload) FROM outbox.event") == 10);
  insert_rows(session, on, 5, 1, 11);
  adopt(on, {"adopt", "--table", "outboxevent", "--remove"});
  insert_rows(session, on, 5, 1, 16);
  adopt(on, adopt_debezium + arguments{"--keep"});
  insert_rows(session, on, 5, 1, 21);
  for (const auto& words : {backlog, backlog + arguments{"--keep"}}) {
    const auto refused = run_outboxd(words, on.variables());
    CHECK(refused.exited(1));
    CHECK_MESSAGE(refused.says("it is not known which of its rows"), refused.text());
  }
  CHECK(session.number("SELECT count(*) FROM outbox.event") == 20);
  CHECK(session.number("SELECT count(*) FROM outboxevent") == 10);
}

TEST_CASE("adopt: a backlog with a row that cannot be an event is not taken, and nothing else is done") {
  const stage on;
  auto session = on.connect();
  session.exec(debezium_table);
  insert_rows(session, on, 10);
  session.exec("UPDATE outboxevent SET payload = NULL WHERE n = 7");
  const auto refused = run_outboxd(backlog, on.variables());
  CHECK(refused.exited(1));
  CHECK_MESSAGE(refused.says("nothing was changed: a row has a null"), refused.text());
  CHECK(session.number("SELECT count(*) FROM outboxevent") == 10);
  CHECK(session.number("SELECT count(*) FROM outbox.event") == 0);
  CHECK(session.number("SELECT count(*) FROM pg_proc WHERE proname LIKE 'outboxd\\_%'") == 0);
  adopt(on, backlog + arguments{"--where", "NEW.payload IS NOT NULL"});
  CHECK(session.number("SELECT count(*) FROM outbox.event") == 9);
}

}  // namespace outboxd::test::adopt_backlog_test
