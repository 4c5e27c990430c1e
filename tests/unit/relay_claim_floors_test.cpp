// relay_claim_floors_test: what sweeps have found out, and when it is forgotten.
#include <doctest/doctest.h>

#include <optional>
#include <vector>

#include "pg/binary.hpp"
#include "relay/claim_floors.hpp"

using namespace outboxd;
using relay::claim_floors;

namespace {

const std::string unknown = pg::int8_array({});

std::string floors_of(std::int64_t first, std::int64_t second) {
  const std::vector<std::optional<std::int64_t>> both{first, second};
  return pg::int8_array(both);
}

}  // namespace

TEST_CASE("claims look from the beginning until a sweep has found floors") {
  claim_floors floors;
  CHECK(floors.parameter() == unknown);
  floors.learn({.floors = "{4,7}", .settled = "12", .mark = "", .writers = ""}, floors.generation());
  CHECK(floors.parameter() == floors_of(4, 7));
  CHECK(floors.known().settled == "12");
  floors.learn({}, floors.generation());
  CHECK(floors.parameter() == unknown);
}

TEST_CASE("with the end of a session all is forgotten, and so is the answer to a sweep that was under way") {
  claim_floors floors;
  const auto asked = floors.generation();
  floors.learn({.floors = "{4,7}", .settled = "12", .mark = "15", .writers = "{3/17}"}, asked);
  floors.forget();
  CHECK(floors.parameter() == unknown);
  CHECK(floors.known().mark.empty());
  floors.learn({.floors = "{8,9}", .settled = "20", .mark = "", .writers = ""}, asked);
  CHECK(floors.parameter() == unknown);
  CHECK(floors.known().settled.empty());
}
