// The statements that write; see round_trip_reads.cpp for those that read.
#include "relay/round_trip.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/utf8.hpp"
#include "pg/binary.hpp"

namespace outboxd::relay {
namespace {

std::vector<event_id> read_ids(const pg::rows& from) {
  std::vector<event_id> out;
  for (int row = 0; row < from.size(); ++row) out.push_back(pg::read_uuid(from.at(row, 0)));
  return out;
}

std::string_view name_of(flow::exception what) {
  switch (what) {
    case flow::exception::none:
      return "";
    case flow::exception::scheduled:
      return "scheduled";
    case flow::exception::backing_off:
      return "backing_off";
    case flow::exception::parked:
      return "parked";
    case flow::exception::dead:
      return "dead";
  }
  return "";
}

}  // namespace

bool round_trip::is_written(const segment& from, flow::write_answer& into) {
  if (!from.refusal) return true;
  into.reason = from.refusal->message;
  switch (pg::write_failure(from.sqlstate)) {
    case pg::statement_failure::later:
      into.result = flow::write_result::deferred;
      return false;
    case pg::statement_failure::of_a_row:
      into.result = flow::write_result::refused;
      return false;
    case pg::statement_failure::of_session:
      broken_ = from.refusal;
      return false;
  }
  return false;
}

void round_trip::add(std::string_view statement, std::vector<std::string> parameters, reader_of then) {
  steps_.run(std::string(statement), std::move(parameters));
  steps_.end_segment();
  then_.push_back(std::move(then));
}

std::vector<std::string> round_trip::events_of(std::int64_t largest) const {
  return {pg::int8(largest), pg::int8(of_.shards - 1), pg::int8(of_.shard)};
}

std::vector<std::string> round_trip::event_parameters() const {
  return events_of(what_.keys_only ? -1 : of_.largest);
}

// A death has to outlive a crash, or its successors would be published before it once more.
void round_trip::add_failures() {
  std::vector<event_id> ids;
  std::vector<std::optional<std::string>> exceptions, codes, reasons;
  std::vector<std::int64_t> attempts, deferrals;
  std::vector<std::optional<std::int64_t>> delays;
  bool dead = false;
  for (const auto& one : what_.failures) {
    const bool backs_off = one.to == flow::exception::backing_off;
    dead = dead || one.to == flow::exception::dead;
    ids.push_back(one.id);
    exceptions.emplace_back(name_of(one.to));
    attempts.push_back(one.counts_attempt ? 1 : 0);
    deferrals.push_back(one.counts_deferral ? 1 : 0);
    delays.push_back(backs_off && one.delay ? std::optional<std::int64_t>(one.delay->count()) : std::nullopt);
    codes.push_back(one.code.empty() ? std::nullopt : std::optional(one.code));
    reasons.push_back(one.reason.empty() ? std::nullopt : std::optional(valid_utf8(one.reason)));
  }
  if (dead) steps_.text("SELECT set_config('synchronous_commit', 'on', true)");
  steps_.run(
      std::string(pg::statement::record),
      {pg::uuid_array(ids), pg::text_array(exceptions), pg::int8_array(attempts), pg::int8_array(deferrals),
       pg::int8_array(delays), pg::text_array(codes), pg::text_array(reasons)});
  // What is recorded is unfinished still, but for the dead: so what is left is known by what is missing among
  // the recorded.
  add(pg::statement::unfinished, {pg::uuid_array(ids)}, [this](segment& got) {
    if (!is_written(got, out_.failures)) return false;
    const auto recorded = read_ids(got.answers[got.answers.size() - 2]);
    for (const event_id& id : read_ids(got.answers.back()))
      if (std::find(recorded.begin(), recorded.end(), id) == recorded.end()) out_.failures.left.push_back(id);
    return true;
  });
}

void round_trip::add_marks() {
  if (what_.marks.mode == flow::mark_mode::by_place) {
    add(pg::statement::mark,
        {pg::uuid_array(what_.marks.ids), pg::tid_array(what_.marks.places), pg::int8(what_.marks.lowest),
         pg::int8(what_.marks.highest)},
        [this](segment& got) {
          if (!is_written(got, out_.marks)) return false;
          const bool all =
              got.answers.front().affected() == static_cast<std::int64_t>(what_.marks.ids.size());
          if (!all) out_.marks.result = flow::write_result::missed;
          return true;
        });
    return;
  }
  steps_.run(std::string(pg::statement::mark_by_id), {pg::uuid_array(what_.marks.ids)});
  add(pg::statement::unfinished, {pg::uuid_array(what_.marks.ids)}, [this](segment& got) {
    if (!is_written(got, out_.marks)) return false;
    out_.marks.left = read_ids(got.answers.back());
    return true;
  });
}

void round_trip::add_save() {
  add(pg::statement::save,
      {pg::int4(of_.shard), pg::int8(what_.save->seq), what_.save->seen.text(),
       pg::uuid_array(what_.save_unsettled)},
      [this](segment& got) {
        out_.saved = !got.refusal;
        if (got.refusal && pg::write_failure(got.sqlstate) == pg::statement_failure::of_session)
          broken_ = got.refusal;
        return true;
      });
}

void round_trip::add_recall() {
  auto parameters = event_parameters();
  parameters.insert(parameters.end(),
                    {pg::timestamptz(what_.recall_after->at), pg::int8(what_.recall_after->seq)});
  add(pg::statement::recall, std::move(parameters), [this](segment& got) {
    flow::write_answer changed;  // it is no read, and fails like a write
    if (!is_written(got, changed)) {
      out_.recalled.result = changed.result == flow::write_result::refused ? flow::read_result::refused
                                                                           : flow::read_result::deferred;
      return false;
    }
    const pg::rows& rows = got.answers.front();
    if (rows.size() > 0)
      out_.recalled.answer.upto = {pg::read_timestamp(rows.at(0, 0)), pg::read_int8(rows.at(0, 1))};
    return true;
  });
}

pg::pipeline round_trip::steps() {
  if (!what_.failures.empty()) add_failures();
  if (!what_.marks.ids.empty()) add_marks();
  if (what_.save) add_save();
  if (what_.read) add_read();
  if (what_.check_from) add_walk(*what_.check_from, out_.checked);
  if (what_.walk_from) add_walk(*what_.walk_from, out_.walk);
  if (what_.due) add_due();
  if (!what_.fetch.empty()) add_ids(what_.fetch, std::numeric_limits<std::int64_t>::max() - 1, out_.fetched);
  if (!what_.by_id.empty()) add_ids(what_.by_id, what_.keys_only ? -1 : of_.largest, out_.by_id);
  if (!what_.release.empty()) add_released();
  if (what_.blocked_after) add_held();
  if (what_.recall_after) add_recall();
  if (what_.pauses) add_pauses();
  if (what_.resume) add_resumed();
  if (what_.dead_after) add_dead();
  return std::move(steps_);
}

result<flow::store_answer> round_trip::answer(std::vector<segment> from) {
  for (std::size_t i = 0; i < then_.size() && i < from.size() && !broken_; ++i) then_[i](from[i]);
  if (broken_) return tl::make_unexpected(*broken_);
  return std::move(out_);
}

}  // namespace outboxd::relay
