// outboxd console: no action is done twice, none is done by who may not, and none ends half-done in silence.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <thread>

#include "acting_console.hpp"

namespace outboxd::test::console_once_test {
namespace {

using nlohmann::json;

void add_published(database& session, const stage& on, int count) {
  session.exec(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload, status, published_at)"
      " SELECT 'order', n, $1, '{}', 'published', now() FROM generate_series(1, $2::int) AS n",
      {on.key(), std::to_string(count)});
}

std::int64_t requeued(database& session) {
  return session.number("SELECT count(*) FROM outbox.event WHERE status = 'waiting'");
}

// An outbox, and somebody at a console of it who may act.
struct at_console {
  explicit at_console(const environment& variables = {}) : console{desk, {}, variables} {}

  const stage on;
  const operator_desk desk{on};
  database session = on.connect();
  acting_console console;
  const person somebody{console};
};

constexpr auto acting = "application_name LIKE 'outboxd console: %' AND datname = current_database()";

// A replay of 3,000 events whose second thousand waits for a row when PostgreSQL goes away: nobody is let
// in any more.
struct cut_off : at_console {
  static constexpr int all = 3'000;

  explicit cut_off(const environment& variables = {}) : at_console{variables} {
    add_published(session, on, all);
    plan = somebody.preview({{"what", "replay"}, {"all", true}});
    holder.exec(
        "BEGIN; UPDATE outbox.event SET attempts = 0 WHERE seq = (SELECT min(seq) + 1500 FROM outbox.event)");
    somebody.apply(plan);
    eventually(
        "the second portion waits",
        [&] {
          return session.number(fmt::format(
                     "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND {}",
                     acting)) == 1;
        },
        time_limit);
    session.exec("ALTER DATABASE " + on.database_name() + " CONNECTION LIMIT 0");
    session.exec(fmt::format("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {}", acting));
  }

  void let_in() {
    session.exec("ALTER DATABASE " + on.database_name() + " CONNECTION LIMIT -1");
    holder.exec("ROLLBACK");
  }

  json plan;
  database holder{on.database_url()};
};

}  // namespace

TEST_CASE_FIXTURE(at_console, "an action that is applied twice is done once, and tells the same result") {
  for (int i = 0; i < 3; ++i) add_dead(session, on);
  const auto plan = somebody.preview({{"what", "retry"}, {"all", true}});
  {
    const person another_tab{console};
    std::thread twin{[&] { another_tab.apply(plan, "the other tab"); }};
    somebody.apply(plan);
    twin.join();
  }
  const auto done = somebody.await(plan, "done");
  CHECK(done.at("changed") == 3);
  // They are dead again, and the request comes once more.
  session.exec("UPDATE outbox.event SET status = 'dead'");
  auto again = somebody.apply(plan, "another reason");
  CHECK(again == done);
  CHECK(session.number("SELECT count(*) FROM outbox.event WHERE status = 'dead'") == 3);
  CHECK(session.number("SELECT count(*) FROM outbox.audit") == 1);
}

TEST_CASE_FIXTURE(
    at_console, "an action applies to what was previewed, and says what was changed meanwhile, and by whom") {
  std::vector<std::string> ids;
  for (int i = 0; i < 5; ++i) ids.push_back(add_dead(session, on));
  const auto plan = somebody.preview({{"what", "retry"}, {"all", true}});
  CHECK(plan.at("matched") == 5);
  desk.text({"dead", "retry", "--id", ids[0], "--id", ids[1], "--reason", "I was first"});
  desk.text({"dead", "discard", "--id", ids[2]});
  const auto late = add_dead(session, on);
  somebody.apply(plan);
  const auto done = somebody.await(plan, "done");
  CHECK(done.at("matched") == 5);
  CHECK(done.at("changed") == 2);
  CHECK(done.at("otherwise") == json{{"gone", 1}, {"waiting", 2}});
  REQUIRE(done.at("meanwhile").size() == 2);
  CHECK(done.at("meanwhile").at(0).at("what") == "discard");
  CHECK(done.at("meanwhile").at(1).at("what") == "retry");
  CHECK(done.at("meanwhile").at(1).at("events") == 2);
  CHECK(done.at("meanwhile").at(1).at("who").get<std::string>().find("outboxd dead retry") !=
        std::string::npos);
  CHECK(session.value("SELECT id FROM outbox.event WHERE status = 'dead'") == late);
}

TEST_CASE_FIXTURE(at_console, "who may not act, and who does not come from the page, gets nothing done") {
  add_dead(session, on);
  const json order{{"what", "discard"}, {"all", true}};
  const person reader{console, read_token};
  CHECK(reader.post("/api/action/preview", order).status == 403);
  const auto plan = somebody.preview(order);
  const json apply{{"token", plan.at("token")}, {"reason", "ticket 7"}};
  CHECK(reader.post("/api/action/apply", apply).status == 403);
  CHECK(reader.post("/api/action/stop", apply).status == 403);
  const auto bearer = fmt::format("Authorization: Bearer {}\r\n", act_token);
  CHECK(console.post("/api/action/apply", apply.dump(), bearer).status == 403);  // no CSRF token
  CHECK(console.post("/api/action/apply", apply.dump(), bearer + "X-CSRF-Token: 0\r\n").status == 403);
  CHECK(console.post("/api/action/apply", apply.dump()).status == 401);
  CHECK(console
            .ask("POST", "/api/action/apply",
                 bearer + "Origin: http://evil.example\r\nContent-Type: application/json\r\n", apply.dump())
            .status == 403);
  {
    const acting_console only_shows{desk, {}, {{"OUTBOXD_CONSOLE_ACCESS", "read"}}};
    CHECK(person{only_shows}.post("/api/action/preview", order).status == 403);
  }
  {
    const running_console nobody_is_asked{desk};
    CHECK(nobody_is_asked.post("/api/action/preview", order.dump()).status == 403);
  }
  CHECK(session.number("SELECT count(*) FROM outbox.event WHERE status = 'dead'") == 1);
  CHECK(session.number("SELECT count(*) FROM outbox.audit") == 0);
}

TEST_CASE_FIXTURE(at_console, "what is wrong with an action is told, and nothing is done") {
  add_dead(session, on);
  for (const json& wrong :
       {json::object(), json{{"what", "edit"}, {"all", true}}, json{{"what", "retry"}},
        json{{"what", "retry"}, {"all", true}, {"id", {"x"}}}, json{{"what", "retry"}, {"id", {"x"}}},
        json{{"what", "retry"}, {"id", "x"}}, json{{"what", "retry"}, {"all", true}, {"rate", 5}},
        json{{"what", "replay"}, {"all", true}, {"rate", 0}},
        json{{"what", "retry"}, {"since", "yesterday noon"}}, json{{"what", "postpone"}, {"all", true}},
        json{{"what", "postpone"}, {"all", true}, {"to", "2001-01-01"}},
        json{{"what", "pause"}, {"all", true}, {"until", "2001-01-01"}}, json{{"what", "pause"}}}) {
    CAPTURE(wrong.dump());
    const auto answer = somebody.post("/api/action/preview", wrong);
    CHECK_MESSAGE(answer.status == 400, answer.body);
  }
  CHECK(somebody.post("/api/action/preview", json::array()).status == 400);
  CHECK(somebody.post("/api/action/nothing", json::object()).status == 404);
  CHECK(somebody.post("/api/action/apply", {{"token", "0"}, {"reason", "x"}}).status == 404);
  CHECK(somebody.post("/api/action/preview", {{"rest_of", "0"}}).status == 404);
  CHECK(somebody.get("/api/action?token=0").status == 404);
  const auto plan = somebody.preview({{"what", "retry"}, {"all", true}});
  for (const auto& reason : {std::string(), std::string("  "), std::string(2000, 'x')})
    CHECK(somebody.post("/api/action/apply", {{"token", plan.at("token")}, {"reason", reason}}).status ==
          400);
  CHECK(session.number("SELECT count(*) FROM outbox.event WHERE status = 'dead'") == 1);
  CHECK(session.number("SELECT count(*) FROM outbox.audit") == 0);
}

TEST_CASE_FIXTURE(
    at_console, "an action is stopped between two portions, says how far it came, and its rest can be done") {
  add_published(session, on, 2'000);
  const auto plan = somebody.preview({{"what", "replay"}, {"all", true}, {"rate", 400}});
  somebody.apply(plan);
  eventually(
      "the first portion is done", [&] { return somebody.progress(plan).at("handled") > 0; }, time_limit);
  // The second person sees what the first one does.
  const auto other = person{console}.preview({{"what", "replay"}, {"all", true}});
  REQUIRE(other.at("running").size() == 1);
  CHECK(other.at("running").at(0).at("matched") == 2'000);
  CHECK(json::parse(somebody.get("/api/audit").body).at("running").size() == 1);
  CHECK(somebody.post("/api/action/stop", {{"token", plan.at("token")}}).status == 200);
  const auto stopped = somebody.await(plan, "stopped");
  const auto handled = stopped.at("handled").get<std::int64_t>();
  CHECK(handled < 2'000);
  CHECK(stopped.at("changed") == handled);
  CHECK(requeued(session) == handled);
  const auto rest = somebody.preview({{"what", "replay"}, {"rest_of", plan.at("token")}});
  CHECK(rest.at("matched") == 2'000 - handled);
  CHECK(somebody.post("/api/action/stop", {{"token", rest.at("token")}}).status ==
        200);  // not begun: no matter
  CHECK(session.number("SELECT events FROM outbox.audit") == handled);
}

TEST_CASE_FIXTURE(
    cut_off, "when PostgreSQL goes in the middle, the action says exactly how much is done, and can go on") {
  const auto unsure = somebody.await(plan, "unsure");
  CHECK(unsure.at("handled") == 1'000);
  CHECK(unsure.at("unsure") == 1'000);
  let_in();
  const auto failed = somebody.await(plan, "failed");
  CHECK(failed.at("handled") == 1'000);
  CHECK(failed.at("changed") == 1'000);
  CHECK(failed.at("unsure") == 0);
  CHECK(failed.at("message").get<std::string>().find("connection to PostgreSQL was lost") !=
        std::string::npos);
  CHECK(requeued(session) == 1'000);
  const auto rest = somebody.preview({{"what", "replay"}, {"rest_of", plan.at("token")}});
  CHECK(rest.at("matched") == all - 1'000);
  somebody.apply(rest);
  CHECK(somebody.await(rest, "done").at("changed") == all - 1'000);
  CHECK(requeued(session) == all);
  CHECK(session.number("SELECT sum(events) FROM outbox.audit") == all);
}

// A quarter of an hour, made short.
struct cut_off_for_long : cut_off {
  cut_off_for_long() : cut_off(environment{{"OUTBOXD_FAILPOINT_HASTE", "1000"}}) {}
};

TEST_CASE_FIXTURE(
    cut_off_for_long,
    "when PostgreSQL stays away, the action ends, says what is not known, and nobody goes on from there") {
  const auto failed = somebody.await(plan, "failed");
  CHECK(failed.at("handled") == 1'000);
  CHECK(failed.at("unsure") == 1'000);
  CHECK(failed.at("message").get<std::string>().find(
            "it is not known whether the last 1000 events were changed: see outbox.audit") !=
        std::string::npos);
  let_in();
  CHECK(session.number("SELECT events FROM outbox.audit") == 1'000);
  CHECK(requeued(session) == 1'000);
  CHECK(somebody.post("/api/action/preview", {{"what", "replay"}, {"rest_of", plan.at("token")}}).status ==
        409);
  CHECK(somebody.apply(plan) == failed);
  // They are selected anew instead.
  CHECK(somebody.act({{"what", "replay"}, {"all", true}}).at("changed") == all - 1'000);
}

TEST_CASE_FIXTURE(
    at_console,
    "without a database a preview says so, and an action that has begun fails with nothing done") {
  add_dead(session, on);
  const auto plan = somebody.preview({{"what", "discard"}, {"all", true}});
  session.exec("ALTER DATABASE " + on.database_name() + " CONNECTION LIMIT 0");
  CHECK(somebody.post("/api/action/preview", {{"what", "retry"}, {"all", true}}).status == 503);
  somebody.apply(plan);
  const auto failed = somebody.await(plan, "failed");
  CHECK(failed.at("handled") == 0);
  CHECK_FALSE(failed.at("message").get<std::string>().empty());
  session.exec("ALTER DATABASE " + on.database_name() + " CONNECTION LIMIT -1");
  CHECK(session.number("SELECT count(*) FROM outbox.event WHERE status = 'dead'") == 1);
  const auto rest = somebody.preview({{"what", "discard"}, {"rest_of", plan.at("token")}});
  somebody.apply(rest);
  CHECK(somebody.await(rest, "done").at("changed") == 1);
}

TEST_CASE_FIXTURE(
    at_console,
    "a console that is told to stop ends its actions between two portions, and its log says where") {
  add_published(session, on, 2'000);
  const auto plan = somebody.preview({{"what", "replay"}, {"all", true}, {"rate", 100}});
  somebody.apply(plan);
  eventually(
      "the first portion is done", [&] { return somebody.progress(plan).at("handled") > 0; }, time_limit);
  console.send(SIGTERM);
  CHECK(console.wait(time_limit).code == 0);
  CHECK(requeued(session) == session.number("SELECT events FROM outbox.audit"));
  CHECK(requeued(session) < 2'000);
  const auto log = console.all_lines();
  CHECK(std::any_of(log.begin(), log.end(), [](const std::string& line) {
    return line.find("replay by act token was stopped after") != std::string::npos;
  }));
}

}  // namespace outboxd::test::console_once_test
