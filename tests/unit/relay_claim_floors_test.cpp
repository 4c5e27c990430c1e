// relay_claim_floors_test: what sweeps and claims have found out, and when it is forgotten.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "pg/binary.hpp"
#include "relay/claim_floors.hpp"

using namespace outboxd;
using relay::claim_floors;
using namespace std::chrono_literals;

namespace {

using seqs = std::vector<std::int64_t>;

seqs same_everywhere(std::int64_t seq) {
  return seqs(relay::shard_count, seq);
}

pg::sweep_knowledge found(const seqs& floors, std::int64_t settled, const std::string& epoch = "0") {
  return {.floors = pg::floors_literal(floors),
          .settled = {.settled = std::to_string(settled), .mark = "30", .writers = "{3/17}"},
          .epoch = epoch,
          .searched = ""};
}

seqs floors_of(const claim_floors& from) {
  return pg::read_int8_array(from.parameters().at(0));
}

}  // namespace

TEST_CASE("claims have no floors until a sweep has found them") {
  claim_floors floors;
  CHECK(floors_of(floors).empty());
  CHECK(floors.parameters().at(1) == pg::int8(-1));
  const seqs one{3};
  floors.raise({.shards = one, .starts = one, .lowest = 3}, floors.generation());
  CHECK(floors_of(floors).empty());
  floors.learn(found(same_everywhere(4), 12), floors.generation());
  CHECK(floors_of(floors) == same_everywhere(4));
  CHECK(floors.parameters().at(1) == pg::int8(12));
  CHECK(floors.known().settled.mark == "30");
}

TEST_CASE("floors only rise, whoever raises them and in whatever order the answers come") {
  claim_floors floors;
  floors.learn(found(same_everywhere(4), 12), floors.generation());
  const seqs shards{0, 63, 64, -1};
  const seqs starts{9, 2, 100, 100};
  floors.raise({.shards = shards, .starts = starts, .lowest = {}}, floors.generation());
  auto expected = same_everywhere(4);
  expected.front() = 9;
  CHECK(floors_of(floors) == expected);
  CHECK(floors.parameters().at(2) == pg::int8(4));
  floors.learn(found(same_everywhere(5), 8), floors.generation());
  expected = same_everywhere(5);
  expected.front() = 9;
  CHECK(floors_of(floors) == expected);
  CHECK(floors.parameters().at(1) == pg::int8(12));
  floors.learn(pg::settled_knowledge{.settled = "20", .mark = "40", .writers = "{}"}, floors.generation());
  CHECK(floors.parameters().at(1) == pg::int8(20));
  CHECK(floors.known().floors == pg::floors_literal(expected));
  floors.raise({.shards = {}, .starts = {}, .lowest = 7}, floors.generation());
  expected = same_everywhere(7);
  expected.front() = 9;
  CHECK(floors_of(floors) == expected);
  CHECK(floors.parameters().at(2) == pg::int8(7));
}

TEST_CASE("a batch that ends raises the floors of its shards as far as was settled when it was claimed") {
  claim_floors floors;
  floors.learn(found(same_everywhere(4), 12), floors.generation());
  const auto start = floors.start_of_batch();
  floors.learn(found(same_everywhere(4), 50), floors.generation());
  const claim_floors::batch_end done{.start = start,
                                     .passed = {{.shard = 3, .below = 9}, {.shard = 5, .below = 40}}};
  auto expected = same_everywhere(4);
  expected[3] = 9;
  expected[5] = 13;
  const auto after = floors.parameters_after(done);
  CHECK(pg::read_int8_array(after.at(0)) == expected);
  CHECK(after.at(1) == pg::int8(50));
  CHECK(after.at(2) == pg::int8(4));
  CHECK(floors_of(floors) == same_everywhere(4));  // it may yet fail
  floors.raise(done);
  CHECK(floors_of(floors) == expected);
  floors.raise({.start = start, .passed = {{.shard = 3, .below = 5}}});
  CHECK(floors_of(floors) == expected);
}

TEST_CASE("a batch of before what was forgotten raises nothing") {
  claim_floors floors;
  floors.learn(found(same_everywhere(4), 12), floors.generation());
  const claim_floors::batch_end done{.start = floors.start_of_batch(), .passed = {{.shard = 3, .below = 9}}};
  floors.forget();
  floors.learn(found(same_everywhere(1), 20), floors.generation());
  floors.raise(done);
  CHECK(floors_of(floors) == same_everywhere(1));
  CHECK(pg::read_int8_array(floors.parameters_after(done).at(0)) == same_everywhere(1));
}

TEST_CASE("each lane takes its shards and leaves them again, and no other's") {
  claim_floors floors;
  floors.take(0b0110);
  floors.take(std::uint64_t{1} << 63U);
  CHECK(floors.held() == ((std::uint64_t{1} << 63U) | 0b0110));
  floors.leave(0b0110);
  CHECK(floors.held() == std::uint64_t{1} << 63U);
}

TEST_CASE("with the end of a session all is forgotten, and so is any answer that was under way") {
  claim_floors floors;
  const auto asked = floors.generation();
  floors.learn(found(same_everywhere(4), 12), asked);
  floors.forget();
  CHECK(floors_of(floors).empty());
  CHECK(floors.known().settled.mark.empty());
  floors.learn(found(same_everywhere(8), 20), asked);
  floors.learn(pg::settled_knowledge{.settled = "20", .mark = "40", .writers = "{}"}, asked);
  CHECK(floors.known().settled.settled.empty());
  floors.learn(found(same_everywhere(1), 2), floors.generation());
  const seqs one{3};
  floors.raise({.shards = one, .starts = one, .lowest = 3}, asked);
  CHECK(floors_of(floors) == same_everywhere(1));
}

TEST_CASE("in another epoch, what was known before is forgotten, and so is what was asked before") {
  claim_floors floors;
  floors.learn(found(same_everywhere(40), 50), floors.generation());
  const auto asked = floors.generation();
  floors.learn(found(same_everywhere(1), 2, "1"), asked);
  CHECK(floors_of(floors) == same_everywhere(1));
  CHECK(floors.parameters().at(1) == pg::int8(2));
  CHECK(floors.known().epoch == "1");
  floors.raise({.shards = {}, .starts = {}, .lowest = 45}, asked);
  CHECK(floors_of(floors) == same_everywhere(1));
}

TEST_CASE("where seqs are not to be relied on, all is forgotten") {
  claim_floors floors;
  const auto asked = floors.generation();
  floors.learn(found(same_everywhere(4), 12), asked);
  floors.learn(pg::settled_knowledge{}, asked);
  CHECK(floors_of(floors).empty());
  CHECK(floors.generation() != asked);
}

TEST_CASE("it is settled after so many claimed events, not too often, and by one lane at a time") {
  claim_floors floors;
  const claim_floors::time_point start{};
  const auto at = [&](std::chrono::milliseconds after) { return start + 1h + after; };
  floors.note_claimed(1000);
  CHECK_FALSE(floors.take_turn_to_settle(at(0ms)));  // no sweep yet
  floors.learn(found(same_everywhere(4), 12), floors.generation());
  CHECK(floors.take_turn_to_settle(at(0ms)));
  CHECK_FALSE(floors.take_turn_to_settle(at(1ms)));
  floors.note_claimed(63);
  CHECK_FALSE(floors.take_turn_to_settle(at(100ms)));
  floors.note_claimed(1);
  CHECK(floors.take_turn_to_settle(at(100ms)));
  floors.note_claimed(64);
  CHECK_FALSE(floors.take_turn_to_settle(at(149ms)));
  CHECK(floors.take_turn_to_settle(at(150ms)));
}
