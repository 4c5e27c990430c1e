// Guarantees 7 and 10: a session that holds a lead and waits for what no timeout ends, such as a standby that
// is gone, keeps neither its own relay nor another one from leading for longer than claim_timeout.
#include <doctest/doctest.h>

#include <csignal>

#include "asked_relay.hpp"
#include "postgres_node.hpp"

namespace outboxd::test::orphaned_lead_test {
namespace {

constexpr auto leads = "leads shard 0 of 1";
const arguments short_claim{"--relay-claim-timeout", "2s"};

// A server of its own, where a commit that is to be on a standby waits for one that is gone. Nobody asks for
// that but who sets synchronous_commit himself.
struct lonely_primary {
  postgres_node server{{"synchronous_standby_names=gone", "synchronous_commit=local"}};
  stage on{{.server_url = server.url()}};

  void add(const std::string& aggregate, const std::string& routing_key = "") const {
    on.connect().exec(
        "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload, routing_key)"
        " VALUES ('order', $1, $2, '{}', nullif($3, ''))",
        {aggregate, on.key(), routing_key});
  }
  void add_others() const { on.add_events(5, 10); }

  // The mark of an event of this aggregate waits for the standby: a trigger of the user's wants it so.
  void make_marks_wait(const std::string& aggregate) const {
    on.connect().exec(
        fmt::format("CREATE FUNCTION wait_for_standby() RETURNS trigger LANGUAGE plpgsql AS"
                    " 'BEGIN SET LOCAL synchronous_commit = on; RETURN NULL; END';"
                    "CREATE TRIGGER waits AFTER UPDATE ON outbox.event FOR EACH ROW"
                    " WHEN (NEW.aggregate_id = '{}') EXECUTE FUNCTION wait_for_standby()",
                    aggregate));
  }
  // The session that leads, once it waits for the standby.
  std::int64_t await_waiting() const {
    auto session = on.connect();
    std::int64_t found = 0;
    eventually(
        "the leader waits for the standby",
        [&] {
          found = session.number(
              "SELECT coalesce(max(a.pid), 0) FROM pg_stat_activity AS a JOIN pg_locks AS l ON l.pid = a.pid"
              " WHERE l.locktype = 'advisory' AND l.objid < 64 AND a.wait_event = 'SyncRep'"
              " AND a.datname = current_database()");
          return found != 0;
        },
        time_limit);
    return found;
  }
  void check_exact() const {
    const auto report = on.check_all();
    CHECK_MESSAGE(report.exact(), report.words());
  }
};

}  // namespace

TEST_CASE("an event that dies while the standby is gone holds up nobody, and costs nobody the lead") {
  const lonely_primary its;
  relay first{its.on};
  first.wait_line(leads, time_limit);
  relay second{its.on};
  second.wait_line("standby: another", time_limit);
  its.add("1", std::string(256, 'x'));  // no broker takes such a routing key
  its.add("1");
  its.add_others();
  its.on.await_published(51);
  CHECK(its.on.count("dead") == 1);
  CHECK(first.count_lines(leads) == 1);
  CHECK(second.count_lines(leads) == 0);
  its.check_exact();
  first.stop();
  second.stop();
}

TEST_CASE("a relay that gives a session up ends it, whatever that waits for, and leads again") {
  const lonely_primary its;
  its.make_marks_wait("waits");
  relay only{its.on, short_claim};
  only.wait_line(leads, time_limit);
  const auto from = only.lines().size();
  its.add("waits");
  const auto stuck = its.await_waiting();
  its.add_others();
  only.wait_line(leads, time_limit, from);
  its.on.await_published(51);
  CHECK(its.on.connect().number("SELECT count(*) FROM pg_stat_activity WHERE pid = $1",
                                {std::to_string(stuck)}) == 0);
  only.stop();
}

TEST_CASE("a leader that hangs while its session waits for a standby that is gone loses the lead") {
  const lonely_primary its;
  its.make_marks_wait("waits");
  relay first{its.on, short_claim};
  first.wait_line(leads, time_limit);
  relay second{its.on, short_claim};
  second.wait_line("standby: another", time_limit);
  its.add("waits");
  its.await_waiting();
  first.send(SIGSTOP);
  its.add_others();
  second.wait_line(leads, time_limit);
  its.on.await_published(51);
  first.send(SIGCONT);
  const auto report = its.on.check_all();
  CHECK_MESSAGE(report.sound(), report.words());
  first.stop();
  second.stop();
}

TEST_CASE("a lead whose session is nobody's and does not end is told, and taken when it has ended") {
  const lonely_primary its;
  its.make_marks_wait("waits");
  asked_relay only{its.on, short_claim, hasty};
  await_ready(only);
  its.add("waits");
  const auto stuck = static_cast<pid_t>(its.await_waiting());
  REQUIRE(::kill(stuck, SIGSTOP) == 0);  // as if its disk did not answer
  its.add_others();
  await_reason(only, "locked_out");
  auto variables = its.on.variables();
  variables["OUTBOXD_RELAY_CLAIM_TIMEOUT"] = "2s";
  const auto status = nlohmann::json::parse(run_outboxd({"status", "--json"}, variables).text());
  REQUIRE(status.at("culprits").size() == 1);
  CHECK(status.at("culprits").at(0).at("keeps_from") == "leading");
  CHECK(status.at("culprits").at(0).at("pid") == stuck);
  CHECK(status.at("culprits").at(0).at("waits_for") == "SyncRep");
  const auto text = run_outboxd({"status"}, variables).text();
  CHECK_MESSAGE(text.find("waits for SyncRep") != std::string::npos, text);
  ::kill(stuck, SIGCONT);
  await_ready(only);
  its.on.await_published(51);
  only.stop();
}

}  // namespace outboxd::test::orphaned_lead_test
