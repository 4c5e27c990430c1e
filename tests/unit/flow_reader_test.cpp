// flow_reader_test: what is read again does not make the reader walk over everything above it.
#include "flow/stream/reader.hpp"
#include "request_by_name.hpp"

#include <doctest/doctest.h>

#include <utility>

namespace flow_reader_test {

using namespace outboxd;
using namespace outboxd::flow;
using namespace std::chrono_literals;

namespace {

constexpr std::int64_t far = 1'000'000;

struct fixture {
  clock::time_point now{std::chrono::hours(1)};
  reader it{{}};
  snapshot seen{12, 12, {}};  // by the next read

  fixture() {
    it.start({far, {10, 10, {}}}, now);
    REQUIRE(walks_from() == far);
    walked(far, false, false);
    REQUIRE(reads_from() == far);
    REQUIRE(read(std::nullopt, std::nullopt) == reader::outcome::complete);
  }
  test::named_request ask() {
    store_request out;
    it.add_to(out, {.fresh = 1'500, .due = 1'500}, now);
    return asked = test::named_request(out);
  }
  std::optional<std::int64_t> walks_from() { return ask().walk_from; }
  std::optional<std::int64_t> reads_from() {
    const auto to = ask().read;
    return to ? std::optional(to->from.seq) : std::nullopt;
  }
  void walked(std::int64_t to, bool met, bool more) {
    tried<walk_answer> got;
    got.answer = {.walked_to = to, .met = met, .more = more};
    it.on_walked(got, now);
  }
  // Nothing is due, and the next event in so long, or never.
  void none_due(std::optional<std::chrono::milliseconds> delay) {
    it.ring_due(now);
    ask();
    REQUIRE(asked.due);
    tried<due_answer> got;
    got.answer.next = delay;
    it.on_due({*asked.due, asked.due_events}, got, now);
  }
  // The same, told by a read that finds no event.
  void read_due_in(std::chrono::milliseconds delay) {
    it.ring();
    it.want_summary();
    ask();
    REQUIRE(asked.read);
    tried<read_answer> got;
    got.answer.now = seen;
    got.answer.saw_all = true;
    got.answer.next_due = delay;
    it.on_read(*asked.read, got, now);
  }
  // Brings one row, or none.
  reader::outcome read(std::optional<std::int64_t> row, std::optional<std::int64_t> top) {
    tried<read_answer> got;
    got.answer.now = seen;
    got.answer.saw_all = true;
    got.answer.top = top;
    if (row) got.answer.rows.emplace_back().what.seq = *row;
    return it.on_read(*asked.read, got, now);
  }
  test::named_request asked;
};

}  // namespace

TEST_CASE_FIXTURE(fixture, "what is read again far below is read, and the position is what it was before") {
  it.read_again(500);
  CHECK(walks_from() == 499);
  walked(499, true, true);
  CHECK(reads_from() == 499);
  const snapshot before = std::exchange(seen, {14, 14, {}});
  CHECK(read(500, far) == reader::outcome::incomplete);
  CHECK(it.at().seq == far);
  CHECK(it.at().seen == before);  // what became visible meanwhile is still to be found
  CHECK(it.read_to() == far);
  CHECK(reads_from() == far);
}

TEST_CASE_FIXTURE(fixture, "the same when it is not there any more") {
  it.read_again(500);
  CHECK(walks_from() == 499);
  walked(10'499, false, true);
  CHECK(reads_from() == far);
}

TEST_CASE_FIXTURE(fixture, "what is forgotten meanwhile is not passed over") {
  it.read_again(500);
  it.forget(900'000);
  CHECK(walks_from() == 499);
  walked(499, true, true);
  CHECK(reads_from() == 499);
  read(500, far);
  CHECK(it.at().seq == 899'999);
}

TEST_CASE_FIXTURE(fixture, "an event that is due after the last time of the clock is looked for each hour") {
  for (const auto delay :
       {std::chrono::milliseconds(9'222'522'407'362'310), std::chrono::milliseconds::max()}) {
    CAPTURE(delay.count());
    none_due(delay);
    CHECK(it.next({1, 1}) == now + 1h);
    read_due_in(delay);
    CHECK(it.next({1, 1}) == now + 1h);
  }
}

TEST_CASE_FIXTURE(fixture, "an event that is due already is looked for at once") {
  none_due(std::nullopt);
  CHECK(it.next({1, 1}) == now + 1h);
  read_due_in(-5ms);
  CHECK(it.next({1, 1}) == now);
}

TEST_CASE_FIXTURE(fixture,
                  "a read ends a span above the position, and walks from there over what is finished") {
  const auto span = read_limits{}.seq_span;
  it.ring();
  CHECK(reads_from() == far);
  CHECK(asked.read->seq_limit == far + span);
  CHECK(read(std::nullopt, far + 10 * span) == reader::outcome::incomplete);
  CHECK(walks_from() == far + span);
  CHECK_FALSE(asked.read);
  walked(far + 5 * span, false, true);  // as far as a walk goes
  CHECK(walks_from() == far + 5 * span);
  walked(far + 10 * span - 1, true, false);
  CHECK(reads_from() == far + 10 * span - 1);
  CHECK(read(far + 10 * span, far + 10 * span) == reader::outcome::complete);
}

TEST_CASE_FIXTURE(fixture, "it says since when it looks through what brings nothing, and how far it is") {
  CHECK_FALSE(it.searching());
  it.ring();
  ask();
  tried<read_answer> part;
  part.answer.now = {15, 15, {}};
  part.answer.xmax = 90;
  const auto begun = now;
  it.on_read(*asked.read, part, now);
  now += 10s;
  ask();
  part.answer.now = {40, 40, {}};
  it.on_read(*asked.read, part, now);
  REQUIRE(it.searching());
  CHECK(it.searching()->since == begun);
  CHECK(it.searching()->seen == 40);
  CHECK(it.searching()->up_to == 90);
  ask();
  CHECK(read(far + 1, far + 1) == reader::outcome::complete);
  CHECK_FALSE(it.searching());
}

TEST_CASE_FIXTURE(fixture,
                  "what it passes on a walk is looked through, too, unless it has no room for events") {
  it.read_again(500);
  ask();
  walked(10'499, false, true);
  CHECK(it.searching());
  store_request none;
  it.add_to(none, {}, now);
  CHECK_FALSE(it.searching());
}

}  // namespace flow_reader_test
