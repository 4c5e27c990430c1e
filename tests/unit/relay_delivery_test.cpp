// relay_delivery_test: refusals as scripts: who is suspected, who is blamed, and what becomes of the others.
#include <doctest/doctest.h>

#include <map>
#include <random>
#include <utility>
#include <vector>

#include "flow_script.hpp"

using namespace outboxd;
using namespace outboxd::test;
using namespace std::chrono_literals;

namespace {

script after_claim(const std::string& events, const std::string& expected, script more) {
  script steps{{"outbox up", ""}, {"broker up", "claim"}, {"claimed " + events, expected}};
  steps.insert(steps.end(), more.begin(), more.end());
  return steps;
}

relay::lane_settings at_most(int attempts) {
  relay::lane_settings settings;
  settings.delivery.retry = retry_policy::exponential(1s, 1s, attempts);
  return settings;
}

relay::lane_settings with_dead_letters(int attempts = 20) {
  relay::lane_settings settings = at_most(attempts);
  settings.delivery.dead_letter_exchange = "dead";
  return settings;
}

// Takes everything.
class open_broker : public relay::broker {
 public:
  result<accepted> publish(token name, const message&) override {
    names.push_back(name);
    return accepted::yes;
  }
  void drop(std::string_view) override {}
  std::vector<token> names;
};

event of_shard(std::int16_t shard, std::int64_t seq, std::string_view aggregate) {
  event out;
  out.shard = shard;
  out.seq = seq;
  out.aggregate_type = "order";
  out.aggregate_id = aggregate;
  out.event_type = "order.created";
  out.headers = "{}";
  return out;
}

}  // namespace

TEST_CASE("at its end a batch tells of each shard how far it is finished without a gap") {
  const relay::delivery_settings settings = at_most(20).delivery;
  batch claimed;
  for (const auto& [shard, seq] : {std::pair{7, 11}, {2, 12}, {7, 13}, {9, 14}, {7, 15}, {2, 16}})
    claimed.events.push_back(of_shard(static_cast<std::int16_t>(shard), seq,
                                      std::string_view("abcdef").substr(claimed.events.size(), 1)));
  relay::delivery one(std::move(claimed), settings, 1);
  open_broker to;
  std::mt19937_64 chance(1);
  one.send(to, chance);
  REQUIRE(to.names.size() == 6);
  const auto acked = [&](std::size_t which) {
    one.take({.id = to.names[which], .what = verdict::acked, .reason = ""}, chance);
  };
  acked(0);                                                                        // 11
  one.take({.id = to.names[1], .what = verdict::returned, .reason = ""}, chance);  // 12, set back
  acked(4);                                                                        // 15, but 13 has no answer
  acked(5);                                                                        // 16
  std::map<int, std::int64_t> below;
  for (const auto& [shard, seq] : one.conclude().passed) below[shard] = seq;
  CHECK(below == std::map<int, std::int64_t>{{2, 17}, {7, 12}});
}

TEST_CASE(
    "when the channel is closed with several in flight each is sent again alone, and the culprit shows") {
  run_script(after_claim("a1 b2 c3 d4", "publish a1; publish b2; publish c3; publish d4",
                         {{"acked a1", ""},
                          {"channel closed", "publish b2"},
                          {"acked b2", "publish c3"},
                          {"channel closed", "publish d4"},
                          {"acked d4", "settle a1 ok, b2 ok, d4 ok, c3 failed then claim"}}));
}

TEST_CASE("an event that closes the channel alone is blamed at once") {
  run_script(after_claim("a1", "publish a1", {{"channel closed", "settle a1 failed then claim"}}));
}

TEST_CASE("several culprits in one batch are all found") {
  run_script(after_claim("a1 b2 c3", "publish a1; publish b2; publish c3",
                         {{"channel closed", "publish a1"},
                          {"channel closed", "publish b2"},
                          {"acked b2", "publish c3"},
                          {"channel closed", "settle b2 ok, a1 failed, c3 failed then claim"}}));
}

TEST_CASE("after the suspects the rest of the batch goes all at once") {
  run_script({{"outbox up", ""},
              {"broker up", "claim"},
              {"room 2", ""},
              {"claimed a1 b2 c3 d4", "publish a1; publish b2; full"},
              {"room 9", ""},
              {"channel closed", "publish a1"},
              {"acked a1", "publish b2"},
              {"acked b2", "publish c3; publish d4"},
              {"acked c3 d4", "settle a1 ok, b2 ok, c3 ok, d4 ok then claim"}});
}

TEST_CASE("while the channel is opened again there is no room, and the suspects go when there is") {
  run_script({{"outbox up", ""},
              {"broker up", "claim"},
              {"claimed a1 b2", "publish a1; publish b2"},
              {"room 0", ""},
              {"channel closed", "full"},
              {"writable", "publish a1"},
              {"acked a1", "publish b2"},
              {"acked b2", "settle a1 ok, b2 ok then claim"}});
}

TEST_CASE("an event that has failed before travels alone") {
  run_script(after_claim("a1 b2^1 c3", "publish a1",
                         {{"acked a1", "publish b2"},
                          {"acked b2", "publish c3"},
                          {"acked c3", "settle a1 ok, b2 ok, c3 ok then claim"}}));
  run_script(
      after_claim("b1^3 b2 c3", "publish b1",
                  {{"channel closed", "publish c3"}, {"acked c3", "settle c3 ok, b1 failed then claim"}}));
}

TEST_CASE("the successors of a suspect wait for it") {
  run_script(after_claim("a1 a2 b3", "publish a1; publish b3",
                         {{"channel closed", "publish a1"},
                          {"acked a1", "publish b3"},
                          {"acked b3", "publish a2"},
                          {"acked a2", "settle a1 ok, b3 ok, a2 ok then claim"}}));
}

TEST_CASE("a connection that is lost while a culprit is looked for blames nobody") {
  run_script(after_claim("a1 b2", "publish a1; publish b2",
                         {{"channel closed", "publish a1"},
                          {"broker down", "settle nothing then release"},
                          {"released", "idle"},
                          {"broker up", "claim"}}));
}

TEST_CASE("at the cap an event is dead, and its successors go on") {
  run_script(after_claim("a1^1 a2 b3", "publish a1",
                         {{"returned a1", "publish b3; publish a2"},
                          {"acked b3 a2", "settle b3 ok, a2 ok, a1 dead then claim"}}),
             at_most(2));
  run_script(
      after_claim("a1^1 a2", "publish a1",
                  {{"channel closed", "publish a2"}, {"acked a2", "settle a2 ok, a1 dead then claim"}}),
      at_most(2));
  run_script(after_claim("a1 a2", "publish a1",
                         {{"returned a1", "publish a2"}, {"acked a2", "settle a2 ok, a1 dead then claim"}}),
             at_most(1));
}

TEST_CASE("no number of nacks kills an event") {
  run_script(after_claim("a1", "publish a1", {{"nacked a1", "settle a1 later then claim"}}), at_most(1));
}

TEST_CASE("a dead event goes to the dead letter exchange before it is marked, alone") {
  run_script(after_claim("a1 b2 a3", "publish a1; publish b2",
                         {{"returned a1", ""},
                          {"acked b2", "publish a1†"},
                          {"acked a1†", "publish a3"},
                          {"acked a3", "settle b2 ok, a3 ok, a1 dead then claim"}}),
             with_dead_letters(1));
}

TEST_CASE("a dead letter that the broker does not take changes nothing but the reason") {
  for (const char* refusal : {"returned a1†", "nacked a1†", "channel closed"})
    run_script(after_claim("a1", "publish a1",
                           {{"returned a1", "publish a1†"}, {refusal, "settle a1 dead then claim"}}),
               with_dead_letters(1));
}

TEST_CASE("an event that cannot be encoded leaves a dead letter without what cannot be encoded") {
  run_script(
      after_claim("a1!", "refuse a1; refuse a1†; publish a1†", {{"acked a1†", "settle a1 dead then claim"}}),
      with_dead_letters());
}

TEST_CASE("a death whose dead letter could not be sent is given back, and nothing is marked") {
  run_script(after_claim("a1", "publish a1",
                         {{"returned a1", "publish a1†"},
                          {"broker down", "settle nothing then release"},
                          {"released", "idle"}}),
             with_dead_letters(1));
}

TEST_CASE("a blocked broker keeps what it was sent, and the claim is given back after confirm_timeout") {
  run_script(after_claim("a1 b2", "publish a1; publish b2",
                         {{"blocked", ""},
                          {"acked a1", ""},
                          {"after 9999", ""},
                          {"check", ""},
                          {"after 1", ""},
                          {"check", "settle a1 ok then release"},
                          {"released", "idle"},
                          {"wake", ""},
                          {"unblocked", "claim"},
                          {"claimed b2", "publish b2"},
                          {"late b2", ""},
                          {"acked b2", "settle b2 ok then claim"}}));
}

TEST_CASE("claimed events are counted by what became of them") {
  flow_script flow(at_most(3));
  for (const char* step : {"outbox up", "broker up", "claimed a1 a2 b3! c4<1 d5 e6 f7 g8^1 h9",
                           "acked a1 nacked d5", "returned e6", "broker down"})
    CHECK(flow.apply(step));
  const auto all = flow.line().totals();
  CHECK(all.claimed == 9);
  CHECK(all.acked == 1);
  CHECK(all.nacked == 1);
  CHECK(all.returned == 1);
  CHECK(all.unencodable == 1);
  CHECK(all.behind == 1);
  CHECK(all.refused == 0);
  CHECK(all.unknown == 1);     // f7
  CHECK(all.given_back == 3);  // a2, g8, h9
}
