// simulated_postgres: the statements that write.
#include <cstring>

#include "simulated_postgres.hpp"

namespace outboxd::test {

using flow::exception;
using flow::mark_mode;
using flow::write_result;

void simulated_postgres::write(std::size_t row, const std::function<void(row_state&)>& how,
                               std::vector<std::function<void()>>& undoing) {
  undoing.push_back([this, row, was = rows[row].now] {
    rows[row].now = was;
    if (on_step) on_step(row, "its change lost in a crash");
  });
  how(rows[row].now);
  rows[row].now.written_by = static_cast<std::uint32_t>(next_xid_);
  if (on_step) on_step(row, "written");
  if (world_.chance(500))
    rows[row].now.place = next_place_++;  // else by a HOT update that leaves ctid chains alike
}

void simulated_postgres::finish(std::vector<std::function<void()>> undoing, bool synchronous) {
  if (undoing.empty()) return;
  latest_completed_ = std::max(latest_completed_, next_xid_);
  log(next_xid_++, [undoing = std::move(undoing)] {
    for (auto at = undoing.rbegin(); at != undoing.rend(); ++at) (*at)();
  });
  if (synchronous || world_.chance(100)) flush();
}

bool simulated_postgres::save(std::size_t shard, const flow::position& at,
                              const std::vector<std::int64_t>& unsettled) {
  if (in_recovery() || world_.chance(20)) return false;
  std::vector<std::function<void()>> undoing{[this, shard, was = saved_[shard]] { saved_[shard] = was; }};
  saved_[shard] = {{at, with_.unsettled_saved ? unsettled : std::vector<std::int64_t>()}, saver::this_server};
  finish(std::move(undoing), false);
  return true;
}

flow::write_answer simulated_postgres::record(const std::vector<flow::failure_record>& what) {
  if (in_recovery()) return {write_result::deferred, {}, "read-only"};
  if (writes_locked_until > world_.now()) return {write_result::deferred, {}, "lock timeout"};
  for (const auto& one : what)
    if (const auto row = find(one.key); row && refuses(*row) && !is_finished(rows[*row]))
      return {write_result::refused, {}, "raised"};
  flow::write_answer out;
  std::vector<std::function<void()>> undoing;
  bool dies = false;
  for (const auto& one : what) {
    const auto found = find(one.key);
    if (!found || is_finished(rows[*found])) continue;
    const std::size_t row = *found;
    if (is_locked(row)) {
      out.left.push_back(one.key);
      continue;
    }
    dies |= one.to == exception::dead;
    const row_state& before = rows[row].now;
    if (on_rewritten && one.waits_for && before.why == exception::backing_off &&
        before.waits_for == one.waits_for && before.available_at > world_.wall())
      on_rewritten(row);
    if (on_given_up && one.to == exception::dead && !one.counts_attempt && before.first_failed_at)
      on_given_up(row, world_.wall() - *before.first_failed_at);
    const bool put_off = one.to != exception::dead && is_put_off(rows[row].now);
    write(
        row,
        [&](row_state& now) {
          now.status = one.to == exception::dead ? row_status::dead : row_status::waiting;
          if (!put_off) now.why = one.to;
          now.attempts += one.counts_attempt ? 1 : 0;
          const bool fails = one.counts_attempt || one.waits_for;
          const auto since = now.first_failed_at.value_or(world_.wall());
          if (one.to == exception::backing_off && !put_off)
            now.available_at = !one.delay ? timestamp::max()
                               : !one.waits_for
                                   ? world_.wall() + *one.delay
                                   : std::max(since + *one.delay, world_.wall() + milliseconds(1'000));
          if (fails)
            now.first_failed_at = since;
          else if (one.to != exception::dead && !put_off)
            now.first_failed_at.reset();
          if (!one.code.empty()) {
            now.failure = one.code;
            now.waits_for = one.waits_for;
          }
        },
        undoing);
  }
  finish(std::move(undoing), dies && with_.dead_synchronous);
  if (dies && on_dead) on_dead();
  return out;
}

flow::write_answer simulated_postgres::mark(const flow::mark_request& what) {
  if (in_recovery()) return {write_result::deferred, {}, "read-only"};
  if (writes_locked_until > world_.now()) return {write_result::deferred, {}, "lock timeout"};
  flow::write_answer out;
  std::vector<std::size_t> now;
  for (std::size_t i = 0; i < what.keys.size(); ++i) {
    const auto found = find(what.keys[i]);
    const bool there = found && (what.mode != mark_mode::by_place ||
                                 std::memcmp(what.places[i].bytes.data(), &rows[*found].now.place,
                                             sizeof rows[*found].now.place) == 0);
    const bool cancelled = there && what.mode != mark_mode::by_place && !rows[*found].gone &&
                           rows[*found].now.status == row_status::dead;
    if (!there || (is_finished(rows[*found]) && !cancelled)) {
      if (what.mode == mark_mode::by_place && with_.places_counted) out.result = write_result::missed;
      continue;
    }
    const std::size_t row = *found;
    if (is_locked(row)) {
      if (!with_.marks_again) continue;
      if (what.mode != mark_mode::unlocked || !with_.locked_skipped)
        return {write_result::deferred, {}, "lock timeout"};
      out.left.push_back(what.keys[i]);
      continue;
    }
    if (refuses(row)) return {write_result::refused, {}, "raised"};
    now.push_back(row);
    if (what.mode == mark_mode::by_place || !with_.changes_told) continue;
    const auto& is = rows[row].now;
    const bool differs =
        cancelled || is.put_off_until > world_.now() || what.sent[i].payload != std::to_string(is.content);
    if (differs && what.sent[i].written_by != is.written_by) out.changed.push_back(what.keys[i]);
  }
  std::vector<std::function<void()>> undoing;
  for (const std::size_t row : now) {
    if (on_published) on_published(row);
    write(
        row,
        [](row_state& of) {
          of.status = row_status::published;
          of.why = exception::none;
          of.first_failed_at.reset();
        },
        undoing);
  }
  for (const event_key& one : out.changed)
    if (const auto row = find(one)) rows[*row].now.failure = "changed_after_send";
  finish(std::move(undoing), false);
  return out;
}

}  // namespace outboxd::test
