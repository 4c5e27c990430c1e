// relay_lane_test: the lane as scripts: what happens to it, and what it then asks of the outbox and the broker.
#include <doctest/doctest.h>

#include "flow_script.hpp"

using namespace outboxd;
using namespace outboxd::test;
using namespace std::chrono_literals;

namespace {

relay::lane_settings pipelined() {
  relay::lane_settings settings;
  settings.delivery.order = order_mode::pipelined;
  return settings;
}

// Connected, with that batch claimed.
script after_claim(const std::string& events, const std::string& expected, script more) {
  script steps{{"outbox up", ""}, {"broker up", "claim"}, {"claimed " + events, expected}};
  steps.insert(steps.end(), more.begin(), more.end());
  return steps;
}

}  // namespace

TEST_CASE(
    "a lane claims, publishes, settles what was acknowledged, and claims again until there is nothing") {
  run_script(after_claim("a1 b2", "publish a1; publish b2",
                         {{"acked b2", ""},
                          {"acked a1", "settle b2 ok, a1 ok then claim"},
                          {"claimed c3", "publish c3"},
                          {"acked c3", "settle c3 ok then claim"},
                          {"claimed", "idle"},
                          {"wake", "claim"},
                          {"claimed", "idle"}}));
}

TEST_CASE(
    "a lane that nobody has rung for since its claim settles, and owes a look instead of a second claim") {
  run_script({{"outbox up", ""},
              {"silence", ""},
              {"broker up", "claim"},
              {"claimed a1 b2", "publish a1; publish b2"},
              {"acked a1 b2", "settle a1 ok, b2 ok then release"},
              {"released", "idle; owes a look"},
              {"wake", "claim"},
              {"claimed", "idle"}});
}

TEST_CASE("what a lane has left or set free is claimed at once, also if nobody has rung") {
  const auto in_silence = [](const std::string& claimed, const std::string& expected, const script& more) {
    script steps{
        {"outbox up", ""}, {"silence", ""}, {"broker up", "claim"}, {"claimed " + claimed, expected}};
    steps.insert(steps.end(), more.begin(), more.end());
    run_script(steps);
  };
  in_silence("a1 +more", "more work; publish a1", {{"acked a1", "settle a1 ok then claim"}});
  in_silence("a1 +unsure", "publish a1", {{"acked a1", "settle a1 ok then claim"}});
  in_silence("a1 +full", "more work; publish a1", {{"acked a1", "settle a1 ok then claim"}});
  in_silence("a1 a2", "publish a1", {{"after 100", ""}, {"acked a1", "settle a1 ok then claim"}});
  in_silence("a1 +waits", "publish a1", {{"acked a1", "settle a1 ok, free 1 then claim"}});
}

TEST_CASE(
    "a lane that gave its batch back because the broker was away looks as soon as it is back, rung or not") {
  run_script({{"outbox up", ""},
              {"silence", ""},
              {"broker up", "claim"},
              {"broker down", ""},
              {"claimed a1", "settle nothing then release"},
              {"broker up", ""},
              {"released", "idle; claim"}});
}

TEST_CASE("a lane claims as soon as both servers are there, whichever comes last") {
  run_script({{"outbox up", ""}, {"wake", ""}, {"broker up", "claim"}, {"wake", ""}, {"claimed", "idle"}});
  run_script({{"broker up", ""}, {"wake", ""}, {"outbox up", "claim"}, {"claimed", "idle"}});
}

TEST_CASE("strict order sends an event only after the earlier ones of its aggregate were acknowledged") {
  run_script(after_claim("a1 a2 b3 a4 b5", "publish a1; publish b3",
                         {{"acked b3", "publish b5"},
                          {"acked a1", "publish a2"},
                          {"acked b5", ""},
                          {"acked a2", "publish a4"},
                          {"acked a4", "settle b3 ok, a1 ok, b5 ok, a2 ok, a4 ok then claim"}}));
}

TEST_CASE("pipelined order sends everything at once") {
  run_script(after_claim("a1 a2 b3", "publish a1; publish a2; publish b3",
                         {{"acked a2 b3", ""}, {"nacked a1", "settle a2 ok, b3 ok, a1 later then claim"}}),
             pipelined());
}

TEST_CASE("the successors of a refused event are given back unsent, in strict order") {
  run_script(after_claim("a1 a2 b3 a4", "publish a1; publish b3",
                         {{"nacked a1", ""}, {"acked b3", "settle b3 ok, a1 later then claim"}}));
  run_script(after_claim("a1 a2", "publish a1", {{"returned a1", "settle a1 failed then claim"}}));
}

TEST_CASE("a return costs an attempt, a nack does not, and both are tried again later") {
  run_script(
      after_claim("a1 b2 c3", "publish a1; publish b2; publish c3",
                  {{"acked a1 returned b2 nacked c3", "settle a1 ok, b2 failed, c3 later then claim"}}));
}

TEST_CASE("what cannot be encoded is dead at once and holds up nobody") {
  run_script(after_claim("a1! a2 b3", "refuse a1; publish b3; publish a2",
                         {{"acked a2 b3", "settle a2 ok, b3 ok, a1 dead then claim"}}));
  run_script(after_claim("a1! a2!", "refuse a1; refuse a2; settle a1 dead, a2 dead then claim", {}));
}

TEST_CASE("all events that were claimed behind a waiting one are set back behind it in one claim, unsent") {
  run_script(
      after_claim("a2<1 b3 a4<1 a5<1 +waits", "publish b3",
                  {{"acked b3", "settle b3 ok, a2 behind 1, a4 behind 1, a5 behind 1, free 3 then claim"}}));
  run_script(after_claim("a2<1 a3<1 +waits", "settle a2 behind 1, a3 behind 1 then claim", {}));
}

TEST_CASE("finished events release those behind them where some wait, and only there") {
  run_script(after_claim(
      "a1 b2 c3! +waits", "publish a1; publish b2; refuse c3",
      {{"acked a1", ""}, {"returned b2", "settle a1 ok, c3 dead, b2 failed, free 3, free 1 then claim"}}));
  run_script(
      after_claim("a1 c3!", "publish a1; refuse c3", {{"acked a1", "settle a1 ok, c3 dead then claim"}}));
}

TEST_CASE("a full batch or other due shards are told, so that another lane may help") {
  relay::lane_settings settings;
  settings.batch = 2;
  run_script(after_claim("a1 b2", "more work; publish a1; publish b2",
                         {{"acked a1 b2", "settle a1 ok, b2 ok then claim"}}),
             settings);
  run_script(after_claim("a1 +more", "more work; publish a1", {{"acked a1", "settle a1 ok then claim"}}));
}

TEST_CASE("a broker without room is tried again when it has some") {
  run_script({{"outbox up", ""},
              {"broker up", "claim"},
              {"room 1", ""},
              {"claimed a1 b2 c3", "publish a1; full"},
              {"room 1", ""},
              {"writable", "publish b2; full"},
              {"room 5", ""},
              {"acked a1", "publish c3"},
              {"acked b2 c3", "settle a1 ok, b2 ok, c3 ok then claim"}});
}

TEST_CASE(
    "a blocked broker gets nothing, what it has may still be confirmed, and the rest goes when it takes "
    "again") {
  run_script({{"outbox up", ""},
              {"broker up", "claim"},
              {"room 1", ""},
              {"claimed a1 b2", "publish a1; full"},
              {"blocked", ""},
              {"writable", ""},
              {"unblocked", "publish b2"},
              {"acked a1 b2", "settle a1 ok, b2 ok then claim"}});
  run_script(after_claim("a1 a2", "publish a1",
                         {{"blocked", ""},
                          {"acked a1", "settle a1 ok then release"},
                          {"released", "idle"},
                          {"wake", ""},
                          {"unblocked", "claim"}}));
}

TEST_CASE("a claim that arrives while the broker is blocked or away is given back") {
  run_script({{"outbox up", ""},
              {"broker up", "claim"},
              {"blocked", ""},
              {"claimed a1", "settle nothing then release"},
              {"unblocked", ""},
              {"released", "idle; claim"}});
  run_script({{"outbox up", ""},
              {"broker up", "claim"},
              {"broker down", ""},
              {"claimed a1", "settle nothing then release"},
              {"broker up", ""},
              {"released", "idle; claim"}});
}

TEST_CASE(
    "with the broker lost, what was acknowledged is marked and the rest given back without an attempt") {
  run_script(after_claim("a1 a2 b3", "publish a1; publish b3",
                         {{"acked a1", "publish a2"},
                          {"broker down", "settle a1 ok then release"},
                          {"released", "idle"},
                          {"wake", ""},
                          {"broker up", "claim"},
                          {"claimed a2 b3", "publish a2; publish b3"},
                          {"acked a2 b3", "settle a2 ok, b3 ok then claim"}}));
}

TEST_CASE("with the outbox lost, the claim is forgotten and confirms that come late change nothing") {
  run_script(after_claim("a1 b2", "publish a1; publish b2",
                         {{"acked a1", ""},
                          {"outbox down", "idle"},
                          {"acked b2", ""},
                          {"outbox up", "claim"},
                          {"claimed a1 b2", "publish a1; publish b2"},
                          {"acked a1", ""},
                          {"acked b2", "settle a1 ok, b2 ok then claim"}}));
}

TEST_CASE("a late confirm of an earlier claim does not count for the event's new publish") {
  run_script(after_claim("a1 a2", "publish a1",
                         {{"outbox down", "idle"},
                          {"outbox up", "claim"},
                          {"claimed a1 a2", "publish a1"},
                          {"late a1", ""},
                          {"acked a1", "publish a2"},
                          {"acked a2", "settle a1 ok, a2 ok then claim"}}));
}

TEST_CASE("a settlement whose answer is lost with the outbox leaves the lane idle until the outbox is back") {
  run_script(after_claim("a1", "publish a1",
                         {{"acked a1", "settle a1 ok then claim"},
                          {"outbox down", "idle"},
                          {"wake", ""},
                          {"outbox up", "claim"}}));
  run_script({{"outbox up", ""}, {"broker up", "claim"}, {"outbox down", "idle"}, {"outbox up", "claim"}});
}

TEST_CASE("after a stop nothing is sent, what is sent is awaited, and the rest is given back") {
  run_script(after_claim("a1 a2 b3", "publish a1; publish b3",
                         {{"stop", ""},
                          {"acked a1", ""},
                          {"acked b3", "settle a1 ok, b3 ok then release"},
                          {"released", "idle"},
                          {"wake", ""},
                          {"broker down", ""},
                          {"broker up", ""}}));
}

TEST_CASE("a stop while a claim is under way gives it back when it comes") {
  run_script({{"outbox up", ""},
              {"broker up", "claim"},
              {"stop", ""},
              {"claimed a1", "settle nothing then release"},
              {"released", "idle"}});
  run_script(after_claim("a1", "publish a1",
                         {{"acked a1", "settle a1 ok then claim"},
                          {"stop", ""},
                          {"claimed b2", "settle nothing then release"},
                          {"released", "idle"}}));
}

TEST_CASE("a stop with nothing unconfirmed settles at once, and a stop in peace does nothing") {
  run_script({{"outbox up", ""},
              {"broker up", "claim"},
              {"room 0", ""},
              {"claimed a1", "full"},
              {"stop", "settle nothing then release"},
              {"released", "idle"}});
  run_script({{"outbox up", ""}, {"stop", ""}, {"broker up", ""}, {"wake", ""}});
}

TEST_CASE("an abandoned lane settles what is known and waits for no confirm") {
  run_script(after_claim("a1 b2", "publish a1; publish b2",
                         {{"stop", ""},
                          {"acked a1", ""},
                          {"abandon", "settle a1 ok then release"},
                          {"acked b2", ""},
                          {"released", "idle"}}));
}

TEST_CASE("without any confirm for confirm_timeout the connection is dropped and the claim given back") {
  run_script(after_claim("a1 b2", "publish a1; publish b2",
                         {{"after 9999", ""},
                          {"check", ""},
                          {"acked a1", ""},
                          {"after 9999", ""},
                          {"check", ""},
                          {"after 1", ""},
                          {"check", "drop; settle a1 ok then release"},
                          {"check", ""},
                          {"released", "idle"},
                          {"wake", ""},
                          {"broker down", ""},
                          {"broker up", "claim"}}));
}

TEST_CASE("a broker that has no room and says nothing is given up, too") {
  run_script({{"outbox up", ""},
              {"broker up", "claim"},
              {"room 0", ""},
              {"claimed a1", "full"},
              {"after 10000", ""},
              {"check", "drop; settle nothing then release"}});
}

TEST_CASE(
    "confirms that trickle in for too long end while PostgreSQL still holds the claim, so that they are "
    "marked") {
  script steps{{"outbox up", ""},
               {"broker up", "claim"},
               {"claimed a1 b2 c3 d4 e5", "publish a1; publish b2; publish c3; publish d4; publish e5"}};
  for (const char* one : {"acked a1", "acked b2", "acked c3"})
    steps.insert(steps.end(), {{"after 8000", ""}, {"check", ""}, {one, ""}});
  steps.insert(steps.end(), {{"after 3000", ""}, {"check", "drop; settle a1 ok, b2 ok, c3 ok then release"}});
  run_script(steps);
}

TEST_CASE("half of claim_timeout after the claim nothing more of it is sent") {
  relay::lane_settings patient;
  patient.successor_window = std::chrono::hours(1);
  run_script(after_claim("a1 a2 a3", "publish a1",
                         {{"after 14999", ""},
                          {"acked a1", "publish a2"},
                          {"after 1", ""},
                          {"acked a2", "settle a1 ok, a2 ok then claim"}}),
             patient);
}

TEST_CASE("a long queue of one aggregate does not hold up the shards of others") {
  run_script(after_claim("a1 a2 a3 b4", "publish a1; publish b4",
                         {{"acked b4", ""},
                          {"acked a1", "publish a2"},
                          {"after 100", ""},
                          {"acked a2", "settle b4 ok, a1 ok, a2 ok then claim"}}));
}

TEST_CASE("a lane has a deadline exactly while it waits for the broker, and a confirm moves it") {
  flow_script flow;
  CHECK_FALSE(flow.line().deadline().has_value());
  flow.apply("outbox up");
  flow.apply("broker up");
  CHECK_FALSE(flow.line().deadline().has_value());
  flow.apply("claimed a1 b2");
  CHECK(flow.line().deadline() == flow.now() + 10s);
  flow.apply("after 4000");
  CHECK(flow.line().deadline() == flow.now() + 6s);
  flow.apply("acked a1");
  CHECK(flow.line().deadline() == flow.now() + 10s);
  flow.apply("acked b2");
  CHECK_FALSE(flow.line().deadline().has_value());
}

TEST_CASE("wake says whether it sent a claim") {
  flow_script flow;
  CHECK_FALSE(flow.line().wake());
  flow.apply("outbox up");
  flow.apply("broker up");
  CHECK_FALSE(flow.line().wake());
  flow.apply("claimed");
  CHECK(flow.line().wake());
}
