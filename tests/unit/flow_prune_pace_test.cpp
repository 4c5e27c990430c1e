// flow_prune_pace_test: retention takes a small share of the time, less beside a backlog, and lets locks
// pass.
#include "flow/retention/prune_pace.hpp"

#include <doctest/doctest.h>

namespace flow_prune_pace_test {

using namespace outboxd::flow;
using namespace std::chrono_literals;
using load = prune_pace::load;

TEST_CASE("after each statement of retention comes a pause of several times its length") {
  prune_pace it;
  CHECK(it.after(10ms, load::light) == 40ms);
  CHECK(it.after(10ms, load::backlog) == 190ms);
  CHECK(it.after(1h, load::backlog) == prune_pace::longest_rest);
}

TEST_CASE("quick statements of retention grow and slow ones shrink, within bounds") {
  prune_pace it;
  const auto first = it.rows();
  it.after(10ms, load::light);
  CHECK(it.rows() == first);
  it.after(1ms, load::light);
  CHECK(it.rows() == 2 * first);
  for (int i = 0; i < 10; ++i) it.after(1ms, load::backlog);
  CHECK(it.rows() == prune_pace::most_rows);
  it.after(50ms, load::light);
  CHECK(it.rows() == prune_pace::most_rows / 2);
  for (int i = 0; i < 10; ++i) it.after(50ms, load::light);
  CHECK(it.rows() == prune_pace::least_rows);
}

TEST_CASE("each refusal in a row makes retention wait longer, up to a minute, and ask for less") {
  prune_pace it;
  const auto first = it.rows();
  CHECK(it.after_refusal() == 1s);
  CHECK(it.rows() == first / 2);
  CHECK(it.after_refusal() == 2s);
  CHECK(it.refusals() == 2);
  for (int i = 0; i < 10; ++i) it.after_refusal();
  CHECK(it.after_refusal() == prune_pace::longest_retry);
  CHECK(it.rows() == prune_pace::least_rows);
  it.after(10ms, load::light);
  CHECK(it.refusals() == 0);
  CHECK(it.after_refusal() == 1s);
}

}  // namespace flow_prune_pace_test
