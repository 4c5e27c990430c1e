// relay_claim_limit_test: with which statement a lane claims, so that a batch stays within its bytes.
#include <doctest/doctest.h>

#include <string>

#include "pg/binary.hpp"
#include "pg/outbox_statements.hpp"
#include "relay/claim_limit.hpp"

using namespace outboxd;
using relay::claim_limit;

namespace {

constexpr int events = 10;
constexpr std::int64_t bytes = 1'000;

bool sums(const claim_limit& limit) {
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
int sums_left(claim_limit limit) {
  int out = 0;
  for (; sums(limit); ++out) limit.learn(one_event("small"));
  return out;
}

}  // namespace

TEST_CASE("claims of small events do not sum up") {
  claim_limit limit(events, bytes);
  CHECK_FALSE(sums(limit));
  limit.learn(batch{});
  const std::string share(100, 'x');
  limit.learn(one_event(share));
  CHECK_FALSE(sums(limit));
}

TEST_CASE("an event that was withheld is claimed with the sum, and so are the next ones") {
  claim_limit limit(events, bytes);
  limit.learn(withheld());
  CHECK(sums(limit));
  const int left = sums_left(limit);
  CHECK(left > 1);
  limit.learn(one_event("small"));
  CHECK(sums_left(limit) == left - 1);
}

TEST_CASE("a look that finds nothing tells nothing") {
  claim_limit limit(events, bytes);
  limit.learn(withheld());
  const int left = sums_left(limit);
  limit.learn(batch{});
  CHECK(sums_left(limit) == left);
}

TEST_CASE("as long as large events come, claims sum up") {
  claim_limit limit(events, bytes);
  limit.learn(withheld());
  const int left = sums_left(limit);
  const std::string large(101, 'x');
  for (int i = 0; i < 3 * left; ++i) {
    limit.learn(one_event(i % 5 == 0 ? large : "small"));
    CHECK(sums(limit));
  }
}

TEST_CASE(
    "a batch has reached the limits when it has half of the bytes, or as many events of a shard as one may "
    "have") {
  const claim_limit limit(events, bytes);
  const auto of_shard = [](std::int16_t shard, int count, std::string_view payload = "") {
    batch out;
    for (int i = 0; i < count; ++i) {
      out.events.emplace_back().payload = payload;
      out.events.back().shard = shard;
    }
    return out;
  };
  CHECK_FALSE(limit.reached_by({}, 0));
  CHECK_FALSE(limit.reached_by({}, 4));
  CHECK_FALSE(limit.reached_by(of_shard(63, 2), 4));  // 10 events of 4 shards: 3 of each
  CHECK(limit.reached_by(of_shard(63, 3), 4));
  CHECK_FALSE(limit.reached_by(of_shard(0, 9), 1));
  CHECK(limit.reached_by(of_shard(0, 10), 1));
  const claim_limit wide(100, bytes);
  CHECK_FALSE(wide.reached_by(of_shard(0, 5), 64));
  CHECK(wide.reached_by(of_shard(0, 6), 64));  // a sixteenth
  const std::string large(250, 'x');
  CHECK_FALSE(limit.reached_by(of_shard(5, 1, large), 1));
  CHECK(limit.reached_by(of_shard(5, 2, large), 1));
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
