// flow_stream_unmarkable_test: rows that PostgreSQL will not mark hold down neither others nor the position.
#include <doctest/doctest.h>

#include <algorithm>

#include "flow_stream_script.hpp"

namespace flow_stream_unmarkable_test {

using namespace outboxd;
using namespace outboxd::flow;
using namespace outboxd::test;

namespace {

using numbers = std::vector<int>;

}  // namespace

TEST_CASE(
    "a row that PostgreSQL will not mark is found, told, and named beside the position instead of holding it "
    "down") {
  stream_script it;
  it.lead();
  it.bring({row(1, 1), row(2, 2)});
  const std::vector<outcome> both{{1, verdict::acked, {}}, {2, verdict::acked, {}}};
  it.wires[0].on_outcomes(both);
  named_answers refused;
  refused.marks.result = write_result::refused;
  it.ask(), it.answer(refused);
  it.ask();
  CHECK(it.marked() == numbers{1});
  it.answer(refused);
  CHECK(it.stuck == numbers{1});
  it.ask();
  CHECK(it.marked() == numbers{2});
  it.answer();
  it.stream.sweep();
  it.ask();
  REQUIRE(it.asked.save);
  CHECK(it.asked.save->seq == 2);
  CHECK(it.asked.save_unsettled == std::vector<std::int64_t>{1});
}

TEST_CASE(
    "of many rows that PostgreSQL will not mark a hundred are named, and the position ends below the "
    "others") {
  constexpr int many = 120;
  stream_script it;
  it.lead();
  std::vector<stored_event> rows;
  std::vector<outcome> acked;
  for (int i = 1; i <= many; ++i) {
    rows.push_back(row(i, i));
    acked.push_back({static_cast<token>(i), verdict::acked, {}});
  }
  it.bring(std::move(rows));
  it.wires[0].on_outcomes(acked);
  named_answers refused;
  refused.marks.result = write_result::refused;
  while (it.stuck.size() < many) {
    it.now = std::max(it.now, it.stream.next_at());
    it.ask();
    it.answer(it.asked.marks.keys.empty() ? named_answers() : refused);
  }
  it.stream.sweep();
  do {
    it.now = std::max(it.now, it.stream.next_at());
    it.ask();
    if (!it.asked.save) it.answer(it.asked.marks.keys.empty() ? named_answers() : refused);
  } while (!it.asked.save);
  CHECK(it.asked.save->seq == 100);
  CHECK(it.asked.save_unsettled.size() == 100);
  for (int i = 1; i <= 100; ++i) {
    CAPTURE(i);
    CHECK(std::count(it.asked.save_unsettled.begin(), it.asked.save_unsettled.end(), i) == 1);
  }
}

}  // namespace flow_stream_unmarkable_test
