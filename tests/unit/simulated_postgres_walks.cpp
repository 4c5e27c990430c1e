// simulated_postgres: the statements that look through the table and bring no events.
#include "simulated_postgres.hpp"

namespace outboxd::test {

using flow::exception;

// Rows of one seq are looked at together.
flow::tried<flow::walk_answer> simulated_postgres::walk(std::size_t shard, std::int64_t from,
                                                        const std::vector<flow::aggregate>& passing_over,
                                                        std::size_t at_least) {
  flow::tried<flow::walk_answer> out;
  if (cannot_read(out)) return out;
  out.answer.walked_to = from;
  std::size_t looked = 0;
  for (const std::size_t row : by_seq_) {
    const table_row& one = rows[row];
    if (!shows(one) || shard_of(one.of) != shard || one.seq <= from) continue;
    const bool passed = std::ranges::find(passing_over, one.of) != passing_over.end();
    if (one.now.status == row_status::pending && !passed) {
      out.answer = {one.seq - 1, true, true};
      return out;
    }
    if (looked++ >= std::max(bounds_.walk_rows, at_least) && one.seq > out.answer.walked_to) {
      out.answer.more = true;
      return out;
    }
    out.answer.walked_to = one.seq;
  }
  return out;
}

flow::tried<flow::dead_answer> simulated_postgres::dead(std::size_t shard, std::int64_t after) const {
  flow::tried<flow::dead_answer> out;
  if (cannot_read(out)) return out;
  for (const std::size_t row : by_seq_) {
    const table_row& one = rows[row];
    if (!shows(one) || shard_of(one.of) != shard || one.now.status != row_status::dead || one.seq <= after)
      continue;
    if (out.answer.of.size() >= bounds_.page && out.answer.upto != one.seq) return out;
    out.answer.of.push_back(one.of);
    out.answer.upto = one.seq;
  }
  out.answer.upto.reset();
  return out;
}

flow::tried<flow::held_answer> simulated_postgres::held(std::size_t shard, flow::aggregate after) {
  flow::tried<flow::held_answer> out;
  if (cannot_read(out)) return out;
  std::map<flow::aggregate, bool> found;
  for (const table_row& one : rows)
    if (shows(one) && shard_of(one.of) == shard && one.of > after &&
        (one.now.why == exception::backing_off || one.now.why == exception::parked))
      found[one.of] |= one.now.why == exception::backing_off;
  for (const auto& [which, head_waits] : found) {
    if (out.answer.rows.size() == bounds_.page) {
      out.answer.upto = out.answer.rows.back().which;
      break;
    }
    out.answer.rows.push_back({which, head_waits});
  }
  return out;
}

}  // namespace outboxd::test
