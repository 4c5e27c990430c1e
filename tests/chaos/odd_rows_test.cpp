// Each writer draws from its share of the table, and an outcome that differs from the table is detected.
#include "odd_rows.hpp"

#include <doctest/doctest.h>

#include <set>

namespace outboxd::chaos::odd_rows_test {
namespace {

test::committed_event row_that_is(const std::string& status) {
  test::committed_event row;
  row.id = "1";
  row.status = status;
  return row;
}

const test::poison killed{.name = "killed", .columns = {}, .status = "dead", .code = "returned"};
const test::poison harmless{.name = "harmless", .columns = {}, .status = "published"};
const test::poison late{.name = "late", .columns = {{"available_at", "'infinity'"}}, .status = "waiting"};
const test::poison tired{.name = "tired", .columns = {{"attempts", "2147483647"}}, .status = "published"};

}  // namespace

TEST_CASE("the writers together draw every row of the table, and one with an id of its own only once") {
  const auto all = test::poisons();
  REQUIRE(all.size() >= 60);
  std::multiset<std::string> drawn;
  std::size_t with_id = 0;
  for (const auto& one : all) with_id += one.columns.count("id");
  for (std::size_t part = 0; part < 4; ++part) {
    odd_deck deck{7 + part, part, 4};
    for (std::size_t i = 0; i < all.size(); ++i) drawn.insert(deck.draw().name);
  }
  for (const auto& one : all) {
    CAPTURE(one.name);
    CHECK(drawn.contains(one.name));
    if (one.columns.contains("id")) CHECK(drawn.count(one.name) == 1);
  }
  CHECK(with_id > 0);
}

TEST_CASE("the same seed draws in the same order and another one in another") {
  const auto order = [](std::uint64_t seed) {
    odd_deck deck{seed, 0, 1};
    std::vector<std::string> names;
    for (int i = 0; i < 50; ++i) names.push_back(deck.draw().name);
    return names;
  };
  CHECK(order(1) == order(1));
  CHECK(order(1) != order(2));
}

TEST_CASE("an end as the table says is right") {
  CHECK(!wrong_end(killed, row_that_is("dead"), {"312 NO_ROUTE", "returned"}, false, false));
  CHECK(!wrong_end(harmless, row_that_is("published"), {}, true, false));
  CHECK(!wrong_end(late, row_that_is("waiting"), {}, false, false));
}

TEST_CASE("another status, another reason, none at all, a delivery too many and one too few are wrong") {
  CHECK(wrong_end(killed, row_that_is("published"), {}, true, false));
  CHECK(wrong_end(killed, row_that_is("waiting"), {}, false, false));
  CHECK(wrong_end(killed, row_that_is("dead"), {"words", "refused"}, false, false));
  CHECK(wrong_end(killed, row_that_is("dead"), {"", "returned"}, false, false));
  CHECK(wrong_end(killed, row_that_is("dead"), {"312 NO_ROUTE", "returned"}, true, false));
  CHECK(wrong_end(harmless, row_that_is("published"), {}, false, false));
  CHECK(wrong_end(harmless, row_that_is("dead"), {"312 NO_ROUTE", "returned"}, false, true));
  CHECK(wrong_end(late, row_that_is("waiting"), {}, true, false));
}

TEST_CASE("a row without an attempt left may die of an outage, and only of one") {
  CHECK(!wrong_end(tired, row_that_is("dead"), {"312 NO_ROUTE", "returned"}, false, true));
  CHECK(wrong_end(tired, row_that_is("dead"), {"312 NO_ROUTE", "returned"}, false, false));
}

}  // namespace outboxd::chaos::odd_rows_test
