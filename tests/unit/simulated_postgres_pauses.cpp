// simulated_postgres: the statements about pauses.
#include <algorithm>

#include "simulated_postgres.hpp"

namespace outboxd::test {

using flow::exception;

flow::tried<flow::pauses_answer> simulated_postgres::in_force() const {
  flow::tried<flow::pauses_answer> out;
  if (cannot_read(out)) return out;
  for (const timed_pause& one : paused) {
    if (one.end <= world_.now()) continue;
    out.answer.in_force.push_back(one.what);
    if (one.end == clock::time_point::max()) continue;
    const auto left = std::chrono::ceil<milliseconds>(one.end - world_.now());
    out.answer.next_end = std::min(out.answer.next_end.value_or(left), left);
  }
  return out;
}

bool simulated_postgres::is_paused(const table_row& one, const std::vector<flow::pause>& by) {
  return std::any_of(by.begin(), by.end(), [&](const flow::pause& each) {
    // For the stream to judge: only routes tell where an event goes.
    if (each.part == flow::paused_part::exchange || each.part == flow::paused_part::routing_key) return false;
    const auto type = each.part == flow::paused_part::event_type       ? type_of(one.ill)
                      : each.part == flow::paused_part::aggregate_type ? aggregate_type_of(one.of)
                                                                       : "";
    return each.name == type;
  });
}

// It looks at so many of those that wait for the end of a pause.
flow::tried<flow::resumed_answer> simulated_postgres::resumed(std::size_t shard,
                                                              const flow::resume_request& what,
                                                              bool keys_only) {
  flow::tried<flow::resumed_answer> out;
  if (cannot_read(out)) return out;
  std::vector<std::size_t> found;
  int left = what.events;
  for (const std::size_t row : by_seq_) {
    const table_row& one = rows[row];
    if (!shows(one) || one.now.why != exception::backing_off || one.now.available_at != timestamp::max() ||
        one.seq <= what.after)
      continue;
    const bool tie = out.answer.upto == one.seq;
    if (left-- <= 0 && !tie) break;
    out.answer.upto = one.seq;
    if (shard_of(one.of) == shard && !is_paused(one, what.paused)) found.push_back(row);
  }
  if (left >= 0) out.answer.upto.reset();
  bring(found, keys_only, out, out.answer.rows);
  for (auto& one : out.answer.rows) one.earlier_waits = waits_before(one);
  return out;
}

}  // namespace outboxd::test
