// relay_claim_choice_test: with which statement a lane claims, so that a batch stays within its bytes.
#include <doctest/doctest.h>

#include <string>

#include "pg/binary.hpp"
#include "pg/outbox_statements.hpp"
#include "relay/claim_choice.hpp"

using namespace outboxd;
using relay::claim_choice;

namespace {

constexpr int events = 10;
constexpr std::int64_t bytes = 1'000;

constexpr claim_choice::place in(std::size_t shards, std::int64_t start = 0) {
  return {.shards = shards, .start = start};
}
constexpr claim_choice::place one_shard = in(1);

bool sums(const claim_choice& limit) {
  const bool out = limit.statement() == pg::statement::claim_within;
  CHECK(limit.parameters().at(0) == pg::int4(events));
  CHECK(limit.parameters().at(1) == pg::int8(out ? bytes : bytes / events));
  return out;
}

batch one_event(std::string_view payload) {
  batch out;
  out.events.emplace_back().payload = payload;
  return out;
}

batch withheld() {
  batch out = one_event("");
  out.withheld = true;
  return out;
}

// Until claims are made without the sum again.
int sums_left(claim_choice limit) {
  int out = 0;
  for (; sums(limit); ++out) limit.learn(one_event("small"), one_shard);
  return out;
}

}  // namespace

TEST_CASE("claims of small events do not sum up") {
  claim_choice limit(events, bytes);
  CHECK_FALSE(sums(limit));
  limit.learn(batch{}, one_shard);
  const std::string share(100, 'x');
  limit.learn(one_event(share), one_shard);
  CHECK_FALSE(sums(limit));
}

TEST_CASE("an event that was withheld is claimed with the sum, and so are the next ones") {
  claim_choice limit(events, bytes);
  CHECK(limit.learn(withheld(), one_shard));
  CHECK(sums(limit));
  const int left = sums_left(limit);
  CHECK(left > 1);
  limit.learn(one_event("small"), one_shard);
  CHECK(sums_left(limit) == left - 1);
}

TEST_CASE("a look that finds nothing tells nothing") {
  claim_choice limit(events, bytes);
  limit.learn(withheld(), one_shard);
  const int left = sums_left(limit);
  limit.learn(batch{}, one_shard);
  CHECK(sums_left(limit) == left);
}

TEST_CASE("as long as large events come, claims sum up") {
  claim_choice limit(events, bytes);
  limit.learn(withheld(), one_shard);
  const int left = sums_left(limit);
  const std::string large(101, 'x');
  for (int i = 0; i < 3 * left; ++i) {
    limit.learn(one_event(i % 5 == 0 ? large : "small"), one_shard);
    CHECK(sums(limit));
  }
}

TEST_CASE(
    "a batch has reached the limits when it has half of the bytes, or as many events of a shard as one may "
    "have") {
  const claim_choice limit(events, bytes);
  const auto of_shard = [](std::int16_t shard, int count, std::string_view payload = "") {
    batch out;
    for (int i = 0; i < count; ++i) {
      out.events.emplace_back().payload = payload;
      out.events.back().shard = shard;
    }
    return out;
  };
  CHECK_FALSE(limit.reached_by({}, in(0)));
  CHECK_FALSE(limit.reached_by({}, in(4)));
  CHECK_FALSE(limit.reached_by(of_shard(63, 2), in(4)));  // 10 events of 4 shards: 3 of each
  CHECK(limit.reached_by(of_shard(63, 3), in(4)));
  CHECK_FALSE(limit.reached_by(of_shard(0, 9), in(1)));
  CHECK(limit.reached_by(of_shard(0, 10), in(1)));
  const claim_choice wide(100, bytes);
  CHECK_FALSE(wide.reached_by(of_shard(0, 5), in(64)));
  CHECK(wide.reached_by(of_shard(0, 6), in(64)));  // a sixteenth
  const std::string large(250, 'x');
  CHECK_FALSE(limit.reached_by(of_shard(5, 1, large), in(1)));
  CHECK(limit.reached_by(of_shard(5, 2, large), in(1)));
}

namespace {

// Of so many shards in turn, every so many seqs.
batch backlog(int count, std::int64_t first, std::int64_t every, int shards = 16) {
  batch out;
  for (int i = 0; i < count; ++i) {
    event& one = out.events.emplace_back();
    one.seq = first + i * every;
    one.shard = static_cast<std::int16_t>(i % shards);
  }
  return out;
}

claim_choice after(const batch& claimed, claim_choice::place where = in(16)) {
  claim_choice out(100, 40'000);
  out.begin(true);
  CHECK_FALSE(out.learn(claimed, where));
  return out;
}

// Until claims are made in bulk again, not counting those that bring nothing.
int shards_left(claim_choice choice) {
  int out = 0;
  while (!choice.in_bulk()) {
    if (choice.few()) {
      choice.on_refused();
    } else {
      choice.learn(backlog(100, 1, 4), in(16));
      ++out;
    }
  }
  return out;
}

}  // namespace

TEST_CASE("a backlog is claimed in bulk as long as that brings enough") {
  claim_choice choice = after(backlog(100, 1, 4));
  CHECK(choice.in_bulk());
  CHECK(choice.statement() == pg::statement::claim_in_bulk);
  CHECK(choice.parameters() == std::vector<std::string>{pg::int4(100), pg::int8(100)});
  CHECK_FALSE(choice.learn(backlog(97, 401, 4), in(16)));
  CHECK(choice.in_bulk());
  CHECK_FALSE(choice.learn(backlog(19, 801, 4, 12), in(12)));  // of 75
  CHECK(choice.in_bulk());
  for (int poor = 0; poor < 2; ++poor) CHECK_FALSE(choice.learn(backlog(23, 1201, 4), in(16)));
  CHECK(choice.in_bulk());
  CHECK_FALSE(choice.learn(backlog(24, 1201, 4), in(16)));
  for (int poor = 0; poor < 2; ++poor) CHECK_FALSE(choice.learn(backlog(23, 1201, 4), in(16)));
  CHECK(choice.in_bulk());
  CHECK_FALSE(choice.learn(backlog(23, 1201, 4), in(16)));
  CHECK_FALSE(choice.in_bulk());
  CHECK(shards_left(choice) > 1);
}

TEST_CASE("a claim in bulk that finds far more than a batch is not made again") {
  claim_choice choice = after(backlog(100, 1, 4));
  CHECK_FALSE(choice.learn(backlog(150, 401, 2), in(16)));
  CHECK(choice.in_bulk());
  CHECK_FALSE(choice.learn(backlog(151, 801, 2), in(16)));
  CHECK_FALSE(choice.in_bulk());
}

TEST_CASE("without floors nothing is claimed in bulk") {
  claim_choice choice = after(backlog(100, 1, 4));
  choice.begin(false);
  CHECK(choice.statement() == pg::statement::claim);
  CHECK_FALSE(choice.learn(batch{}, in(16)));
  choice.begin(true);
  CHECK_FALSE(choice.in_bulk());
}

TEST_CASE("what is little, failed before, is large or in a queue is claimed shard after shard") {
  CHECK_FALSE(after(batch{}, in(0)).in_bulk());
  CHECK_FALSE(after(backlog(74, 1, 4)).in_bulk());
  CHECK(after(backlog(75, 1, 4), in(64)).in_bulk());
  CHECK_FALSE(after(backlog(100, 1, 4), in(11)).in_bulk());
  const auto one_is = [](const auto& change) {
    batch out = backlog(100, 1, 4);
    change(out.events[50]);
    return after(out).in_bulk();
  };
  CHECK(one_is([](event&) {}));
  CHECK_FALSE(one_is([](event& one) { one.attempts = 1; }));
  CHECK_FALSE(one_is([](event& one) { one.nacks = 1; }));
  CHECK_FALSE(one_is([](event& one) { one.behind = 3; }));
  CHECK_FALSE(one_is([](event& one) { one.has_followers = true; }));
  const std::string fits(100, 'x');
  CHECK(one_is([&](event& one) { one.payload = fits; }));
  const std::string large(101, 'x');
  CHECK_FALSE(one_is([&](event& one) { one.payload = large; }));
}

TEST_CASE(
    "a claim in bulk that brings nothing or a large event is made again, and the next ones are not in bulk") {
  claim_choice choice = after(backlog(100, 1, 4));
  CHECK(choice.learn(batch{}, in(16)));
  CHECK(choice.statement() == pg::statement::claim);
  const int left = shards_left(choice);
  CHECK(left > 1);
  choice.learn(batch{}, in(0));  // a look that finds nothing tells nothing
  CHECK(shards_left(choice) == left);
  choice.on_refused();
  choice.learn(backlog(100, 1, 4), in(16));
  CHECK(shards_left(choice) == left - 1);

  choice = after(backlog(100, 1, 4));
  CHECK(choice.learn(withheld(), in(16)));
  CHECK(choice.statement() == pg::statement::claim);  // it may be small enough for that
  CHECK(choice.learn(withheld(), in(16)));
  CHECK(choice.statement() == pg::statement::claim_within);
  CHECK_FALSE(choice.learn(backlog(100, 1, 4), in(16)));

  choice = after(backlog(100, 1, 4));
  CHECK_FALSE(choice.learn(batch{}, in(0)));  // nothing to do
  CHECK_FALSE(choice.in_bulk());
  CHECK(shards_left(choice) == 1);

  choice = after(backlog(100, 1, 4));
  choice.on_settled(99, 1);  // what was not claimed in bulk tells nothing
  CHECK(choice.in_bulk());
  choice.learn(backlog(99, 401, 4), in(16));
  choice.on_settled(99, 66);
  CHECK(choice.in_bulk());
  choice.on_settled(99, 65);
  CHECK_FALSE(choice.in_bulk());
  CHECK(shards_left(choice) == left);
}

TEST_CASE("shards that are ahead of claims in bulk have their part of every fourth claim") {
  claim_choice choice = after(backlog(100, 1, 4));
  for (int claim = 1; claim < 20; ++claim) {
    CAPTURE(claim);
    CHECK(choice.in_bulk() == (claim % 4 != 0));
    CHECK_FALSE(choice.learn(backlog(100, 401, 4, 15), in(16)));
  }
}

TEST_CASE("a claim in bulk has reached its limit unless it shows that there is no more") {
  const claim_choice choice = after(backlog(100, 1, 4));
  const claim_choice all = after(backlog(100, 1, 1, 64), in(64));
  CHECK_FALSE(choice.reached_by({}, in(16)));
  CHECK(choice.reached_by(backlog(100, 401, 4), in(16, 401)));
  CHECK(choice.reached_by(backlog(83, 401, 4), in(16, 401)));
  CHECK_FALSE(choice.reached_by(backlog(82, 401, 4), in(16, 401)));
  CHECK(choice.reached_by(backlog(82, 401, 4, 15), in(16, 401)));  // nothing of a shard
  CHECK(choice.reached_by(backlog(23, 401, 4), in(16, 401)));      // less than a quarter of what was expected
  CHECK(choice.reached_by(backlog(101, 401, 1), in(16, 401)));     // more than a batch
  CHECK(choice.reached_by(backlog(70, 501, 4), in(16, 401)));      // the range begins before the first event
  CHECK(all.reached_by(backlog(100, 401, 1, 64), in(64, 401)));
  CHECK_FALSE(all.reached_by(backlog(80, 401, 1, 64), in(64, 401)));
  CHECK(all.reached_by(backlog(100, 501, 1, 64), in(64, 401)));
}

TEST_CASE("claims that bring little are followed by one of few, as long as the floors are known") {
  CHECK(after(batch{}, in(0)).few());
  CHECK_FALSE(after(backlog(17, 1, 4)).few());
  claim_choice choice = after(backlog(16, 1, 4));
  CHECK(choice.few());
  CHECK(choice.statement() == pg::statement::claim_few);
  CHECK(choice.parameters() == std::vector<std::string>{pg::int4(32), pg::int8(40'000 / 32)});
  CHECK_FALSE(choice.learn(backlog(32, 101, 4), {}));
  CHECK(choice.few());
  choice.begin(false);
  CHECK(choice.statement() == pg::statement::claim);
  const claim_choice small(events, bytes);
  CHECK_FALSE(small.few());
}

TEST_CASE("a claim of few takes no more than a batch") {
  claim_choice small(events, bytes);
  small.begin(true);
  CHECK_FALSE(small.learn(batch{}, in(0)));
  CHECK(small.parameters() == std::vector<std::string>{pg::int4(events), pg::int8(bytes / events)});
}

TEST_CASE(
    "few are not claimed after events that failed before or are in a queue, for those would be refused") {
  const auto few_after = [](const auto& change) {
    batch one = backlog(1, 1, 1);
    change(one.events[0]);
    return after(one, in(1)).few();
  };
  CHECK(few_after([](event&) {}));
  CHECK_FALSE(few_after([](event& one) { one.attempts = 1; }));
  CHECK_FALSE(few_after([](event& one) { one.nacks = 1; }));
  CHECK_FALSE(few_after([](event& one) { one.behind = 3; }));
  CHECK_FALSE(few_after([](event& one) { one.has_followers = true; }));
}

TEST_CASE("claims with the sum and in bulk do not tell whether there is more") {
  claim_choice choice(events, bytes);
  CHECK(choice.tells_all());
  choice.learn(withheld(), one_shard);
  CHECK_FALSE(choice.tells_all());
  CHECK_FALSE(after(backlog(100, 1, 4)).tells_all());
  CHECK(after(batch{}, in(0)).tells_all());
}

TEST_CASE("after a refusal claims are made otherwise for a while, and ever longer until one is served") {
  claim_choice choice = after(batch{}, in(0));
  const auto refused = [&] {
    choice.on_refused();
    int others = 0;
    for (; !choice.few() && others < 10'000; ++others) choice.learn(batch{}, in(0));
    return others;
  };
  const int first = refused();
  CHECK(first > 1);
  CHECK(refused() == 2 * first);
  CHECK_FALSE(choice.learn(batch{}, {}));  // nothing there to refuse
  CHECK(refused() == 4 * first);
  for (int i = 0; i < 20; ++i) CHECK(refused() < 2000);
  CHECK_FALSE(choice.learn(backlog(1, 1, 1), {}));
  CHECK(refused() == first);
}

TEST_CASE("whether few are claimed depends on the largest event that fits, not on what was refused before") {
  const std::string fits(1250, 'x');
  const std::string large(1251, 'x');
  CHECK(after(one_event(fits), in(1)).few());
  CHECK_FALSE(after(one_event(large), in(1)).few());
}

TEST_CASE("a claim of few that meets a large event is made again with the sum") {
  claim_choice choice = after(batch{}, in(0));
  CHECK(choice.learn(withheld(), {}));
  CHECK(choice.statement() == pg::statement::claim_within);
}

TEST_CASE("the size of an event is that of all its texts") {
  event one;
  one.aggregate_type = "1";
  one.aggregate_id = "22";
  one.event_type = "333";
  one.payload = "4444";
  one.headers = "55555";
  one.exchange = "666666";
  one.routing_key = "7777777";
  CHECK(size_of(one) == 28);
}
