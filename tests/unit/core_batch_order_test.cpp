// core_batch_order_test: which event of a batch goes next.
#include <doctest/doctest.h>

#include "core/batch_order.hpp"
#include "flow_notation.hpp"

using namespace outboxd;
using outboxd::test::batch_of;
using outboxd::test::words_of;

namespace {

// The indexes that may be sent now, in order.
std::vector<std::size_t> send_all(batch_order& order) {
  std::vector<std::size_t> sent;
  while (const auto next = order.front()) {
    sent.push_back(*next);
    order.pop();
  }
  return sent;
}

using indexes = std::vector<std::size_t>;

}  // namespace

TEST_CASE("strict order lets one event of each aggregate go, and its successor when it is finished") {
  const batch claimed = batch_of(words_of("a1 b2 a3 c4 a5 b6"));
  batch_order order(claimed.events, order_mode::strict);
  CHECK(send_all(order) == indexes{0, 1, 3});
  order.finish(0);
  CHECK(send_all(order) == indexes{2});
  order.finish(1);
  order.finish(2);
  CHECK(send_all(order) == indexes{5, 4});
  order.finish(4);
  order.finish(5);
  order.finish(3);
  CHECK(send_all(order).empty());
}

TEST_CASE("an event that is never finished holds back its successors and nobody else") {
  const batch claimed = batch_of(words_of("a1 a2 b3 b4"));
  batch_order order(claimed.events, order_mode::strict);
  CHECK(send_all(order) == indexes{0, 2});
  order.finish(2);
  CHECK(send_all(order) == indexes{3});
}

TEST_CASE("pipelined order lets all events go at once in seq order") {
  const batch claimed = batch_of(words_of("a1 a2 b3 a4"));
  batch_order order(claimed.events, order_mode::pipelined);
  CHECK(send_all(order) == indexes{0, 1, 2, 3});
  order.finish(0);
  CHECK(send_all(order).empty());
}

TEST_CASE("what has to be sent again goes first, in its order, and successors wait for it all the same") {
  const batch claimed = batch_of(words_of("a1 b2 a3 c4 d5"));
  batch_order order(claimed.events, order_mode::strict);
  order.pop();
  order.pop();
  order.pop();
  order.finish(3);
  order.again(indexes{0, 1});
  CHECK_FALSE(order.only_successors_left());
  CHECK(send_all(order) == indexes{0, 1, 4});
  CHECK(order.only_successors_left());
  order.finish(0);
  CHECK(send_all(order) == indexes{2});
}

TEST_CASE("the front stays until it is popped") {
  const batch claimed = batch_of(words_of("a1 b2"));
  batch_order order(claimed.events, order_mode::strict);
  CHECK(order.front() == 0U);
  CHECK(order.front() == 0U);
  order.pop();
  CHECK(order.front() == 1U);
}

TEST_CASE("an aggregate is its type and its id: 'ab','c' is not 'a','bc', and types keep equal ids apart") {
  batch claimed = batch_of(words_of("c1 c2 c3 c4"));
  claimed.events[0].aggregate_type = "ab";
  claimed.events[1].aggregate_type = "a";
  claimed.events[1].aggregate_id = "bc";
  claimed.events[2].aggregate_type = "x";
  claimed.events[3].aggregate_type = "x";
  batch_order order(claimed.events, order_mode::strict);
  CHECK(send_all(order) == indexes{0, 1, 2});
}

TEST_CASE("an empty batch has nothing to send") {
  CHECK_FALSE(batch_order().front().has_value());
  CHECK_FALSE(batch_order({}, order_mode::strict).front().has_value());
}
