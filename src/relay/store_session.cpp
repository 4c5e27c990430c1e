#include "relay/store_session.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "core/failpoint.hpp"
#include "core/utf8.hpp"
#include "pg/binary.hpp"
#include "pg/event_rows.hpp"
#include "pg/sqlstate.hpp"

namespace outboxd::relay {
namespace {

using segment = pg::connection::segment;
using column = pg::event_column;

// How many transactions (c) of docs/design.md goes through in one read.
constexpr flow::xid xids_at_once = 20'000;

// A statement under way: what to do with its answer. False: the session is of no more use.
using reader_of = std::function<bool(segment&)>;

class round_trip {
 public:
  round_trip(const flow::store_request& what, const shard_view& of) : what_(what), of_(of) {}

  pg::pipeline steps();
  result<flow::store_answer> answer(std::vector<segment> from);

 private:
  void add(std::string_view statement, std::vector<std::string> parameters, reader_of then);
  std::vector<std::string> event_parameters() const;
  std::vector<std::string> events_of(std::int64_t largest) const;

  void add_failures();
  void add_marks();
  void add_save();
  void add_read();
  void add_walk(std::int64_t from, flow::tried<flow::walk_answer>& into);
  void add_due();
  void add_ids(const std::vector<event_id>& ids, std::int64_t largest,
               flow::tried<std::vector<flow::stored_event>>& into);
  void add_released();
  void add_held();
  void add_recall();

  const flow::store_request& what_;
  const shard_view& of_;
  pg::pipeline steps_;
  std::vector<reader_of> then_;
  flow::store_answer out_;
  std::optional<error> broken_;
};

// Whether it can be used; if not, what it means for the flow.
template <class Answer>
bool is_read(const segment& from, flow::tried<Answer>& into, std::optional<error>& broken) {
  if (!from.refusal) return true;
  into.reason = from.refusal->message;
  switch (pg::read_failure(from.sqlstate)) {
    case pg::statement_failure::later:
      into.result = flow::read_result::deferred;
      return false;
    case pg::statement_failure::of_a_row:
      into.result = flow::read_result::refused;
      return false;
    case pg::statement_failure::of_session:
      broken = from.refusal;
      return false;
  }
  return false;
}

bool is_written(const segment& from, flow::write_answer& into, std::optional<error>& broken) {
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
      broken = from.refusal;
      return false;
  }
  return false;
}

std::vector<event_id> read_ids(const pg::rows& from) {
  std::vector<event_id> out;
  for (int row = 0; row < from.size(); ++row) out.push_back(pg::read_uuid(from.at(row, 0)));
  return out;
}

std::optional<std::int64_t> find_int8(const pg::rows& from, int row, column which) {
  const auto field = from.find(row, static_cast<int>(which));
  return field ? std::optional(pg::read_int8(*field)) : std::nullopt;
}

// Of a head: from created_at to available_at. Infinity is never.
std::optional<std::chrono::milliseconds> until_due(const pg::rows& head) {
  const auto at = head.find(0, static_cast<int>(column::available_at));
  if (!at || pg::read_timestamp(*at) == timestamp::max()) return std::nullopt;
  const timestamp now = pg::read_timestamp(head.at(0, static_cast<int>(column::created_at)));
  const timestamp due = std::max(pg::read_timestamp(*at), timestamp());
  return std::chrono::ceil<std::chrono::milliseconds>(due - now);
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
    delays.push_back(backs_off ? std::optional<std::int64_t>(one.delay.count()) : std::nullopt);
    codes.push_back(one.code.empty() ? std::nullopt : std::optional(one.code));
    reasons.push_back(one.reason.empty() ? std::nullopt : std::optional(valid_utf8(one.reason)));
  }
  if (dead) steps_.text("SELECT set_config('synchronous_commit', 'on', true)");
  steps_.run(
      std::string(pg::statement::record),
      {pg::uuid_array(ids), pg::text_array(exceptions), pg::int8_array(attempts), pg::int8_array(deferrals),
       pg::int8_array(delays), pg::text_array(codes), pg::text_array(reasons)});
  // What is recorded is unfinished still, but for the dead: so what is left is known by what is missing among the recorded.
  add(pg::statement::unfinished, {pg::uuid_array(ids)}, [this](segment& got) {
    if (!is_written(got, out_.failures, broken_)) return false;
    const auto recorded = read_ids(got.answers[got.answers.size() - 2]);
    for (const event_id& id : read_ids(got.answers.back()))
      if (std::find(recorded.begin(), recorded.end(), id) == recorded.end()) out_.failures.left.push_back(id);
    return true;
  });
}

void round_trip::add_marks() {
  if (what_.marks.mode == flow::mark_mode::by_place) {
    add(pg::statement::mark, {pg::uuid_array(what_.marks.ids), pg::tid_array(what_.marks.places)},
        [this](segment& got) {
          if (!is_written(got, out_.marks, broken_)) return false;
          const bool all =
              got.answers.front().affected() == static_cast<std::int64_t>(what_.marks.ids.size());
          if (!all) out_.marks.result = flow::write_result::missed;
          return true;
        });
    return;
  }
  steps_.run(std::string(pg::statement::mark_by_id), {pg::uuid_array(what_.marks.ids)});
  add(pg::statement::unfinished, {pg::uuid_array(what_.marks.ids)}, [this](segment& got) {
    if (!is_written(got, out_.marks, broken_)) return false;
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

void round_trip::add_read() {
  const auto& asked = *what_.read;
  auto parameters = event_parameters();
  const flow::xid upper = asked.from.seen.xmax + xids_at_once;
  parameters.insert(parameters.end(), {pg::int8(asked.from.seq), pg::xid8_array(asked.from.seen.in_progress),
                                       pg::int8(static_cast<std::int64_t>(asked.from.seen.xmax)),
                                       pg::int8(static_cast<std::int64_t>(upper)), pg::int8(asked.seq_limit),
                                       pg::int8(asked.events), pg::boolean(asked.looks_around)});
  add(pg::statement::read, std::move(parameters), [this, upper](segment& got) {
    if (!is_read(got, out_.read, broken_)) return false;
    const pg::rows& rows = got.answers.front();
    auto& into = out_.read.answer;
    const auto now = flow::snapshot::parse(rows.at(0, static_cast<int>(column::event_type)));
    if (!now) {
      broken_ =
          error{fault::permanent, "PostgreSQL has sent a snapshot that this version of outboxd cannot read"};
      return false;
    }
    into.saw_all = now->xmax <= upper;
    into.now = now->cut_at(upper);
    into.top = find_int8(rows, 0, column::seq);
    into.late = find_int8(rows, 0, column::size).value_or(0);
    into.late_low = find_int8(rows, 0, column::hash);
    if (what_.read->looks_around) {
      into.next_due = until_due(rows);
      into.holds = pg::read_int4(rows.at(0, static_cast<int>(column::attempts))) != 0;
    }
    into.rows = pg::read_events(rows);
    const auto by_seq = [](const auto& a, const auto& b) { return a.what.seq < b.what.seq; };
    if (into.late > 0) std::stable_sort(into.rows.begin(), into.rows.end(), by_seq);
    if (!into.rows.empty()) failpoint("claimed");
    return true;
  });
}

void round_trip::add_walk(std::int64_t from, flow::tried<flow::walk_answer>& into) {
  auto parameters = event_parameters();
  parameters.push_back(pg::int8(from));
  add(pg::statement::walk, std::move(parameters), [this, &into](segment& got) {
    if (!is_read(got, into, broken_)) return false;
    const pg::rows& rows = got.answers.front();
    into.answer = {pg::read_int8(rows.at(0, 0)), pg::read_bool(rows.at(0, 1)), pg::read_bool(rows.at(0, 2))};
    return true;
  });
}

void round_trip::add_due() {
  auto parameters = event_parameters();
  parameters.insert(parameters.end(),
                    {pg::timestamptz(what_.due->at), pg::int8(what_.due->seq), pg::int8(what_.due_events)});
  add(pg::statement::due, std::move(parameters), [this](segment& got) {
    if (!is_read(got, out_.due, broken_)) return false;
    const pg::rows& rows = got.answers.front();
    auto& into = out_.due.answer;
    into.rows = pg::read_events(rows);
    const auto time = [&](int row, column which) {
      return pg::read_timestamp(rows.at(row, static_cast<int>(which)));
    };
    if (const int last = rows.size() - 1; last > 0)
      into.last = {time(last, column::available_at), find_int8(rows, last, column::seq).value_or(0)};
    into.next = until_due(rows);
    return true;
  });
}

void round_trip::add_ids(const std::vector<event_id>& ids, std::int64_t largest,
                         flow::tried<std::vector<flow::stored_event>>& into) {
  auto parameters = events_of(largest);
  parameters.push_back(pg::uuid_array(ids));
  add(pg::statement::by_id, std::move(parameters), [this, &into](segment& got) {
    if (!is_read(got, into, broken_)) return false;
    into.answer = pg::read_events(got.answers.front());
    return true;
  });
}

void round_trip::add_released() {
  auto parameters = event_parameters();
  parameters.insert(parameters.end(), {pg::int8_array(what_.release), pg::int8(what_.release_events)});
  add(pg::statement::released, std::move(parameters), [this](segment& got) {
    if (!is_read(got, out_.released, broken_)) return false;
    const pg::rows& rows = got.answers.front();
    auto& into = out_.released.answer;
    for (int row = 0; row < rows.size() && rows.is_null(row, static_cast<int>(column::id)); ++row) {
      const auto hash = find_int8(rows, row, column::hash).value_or(0);
      if (pg::read_int4(rows.at(row, static_cast<int>(column::attempts))) != 0)
        into.backs_off.push_back(hash);
      if (find_int8(rows, row, column::seq)) into.more.push_back(hash);
    }
    into.rows = pg::read_events(rows);
    return true;
  });
}

void round_trip::add_held() {
  constexpr int page = 500;
  add(pg::statement::held, {pg::int8(*what_.blocked_after)}, [this](segment& got) {
    if (!is_read(got, out_.blocked, broken_)) return false;
    const pg::rows& rows = got.answers.front();
    for (int row = 0; row < rows.size(); ++row) {
      const auto hash = pg::read_int8(rows.at(row, 0));
      if ((hash & (of_.shards - 1)) == of_.shard)
        out_.blocked.answer.rows.push_back({hash, pg::read_bool(rows.at(row, 1))});
      if (row + 1 == page) out_.blocked.answer.upto = hash;
    }
    return true;
  });
}

void round_trip::add_recall() {
  auto parameters = event_parameters();
  parameters.insert(parameters.end(),
                    {pg::timestamptz(what_.recall_after->at), pg::int8(what_.recall_after->seq)});
  add(pg::statement::recall, std::move(parameters), [this](segment& got) {
    flow::write_answer changed;  // it is no read, and fails like a write
    if (!is_written(got, changed, broken_)) {
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
  return std::move(steps_);
}

result<flow::store_answer> round_trip::answer(std::vector<segment> from) {
  for (std::size_t i = 0; i < then_.size() && i < from.size() && !broken_; ++i) then_[i](from[i]);
  if (broken_) return tl::make_unexpected(*broken_);
  return std::move(out_);
}

}  // namespace

boost::asio::awaitable<result<flow::saved_position>> store_session::load(shard_view& of) {
  pg::pipeline ask;
  ask.run(std::string(pg::statement::load), {pg::int4(of.shard)});
  const auto answers = co_await link_.execute(std::move(ask), timeout_);
  if (!answers) co_return tl::make_unexpected(answers.error());
  const pg::rows& row = answers->front();
  if (row.size() == 0) co_return transient("the shard is not there any more");
  const auto now = flow::snapshot::parse(row.at(0, 3));
  const auto seen = flow::snapshot::parse(row.at(0, 1));
  if (!now) co_return permanent("PostgreSQL has sent a snapshot that this version of outboxd cannot read");
  of.shards = static_cast<int>(pg::read_int8(row.at(0, 4)));
  of.rings = pg::read_bool(row.at(0, 5));
  of.afresh = pg::read_bool(row.at(0, 6));
  flow::saved_position out{flow::position::start(*now), {}};
  if (row.is_null(0, 0) || !seen) co_return out;
  out.at = {pg::read_int8(row.at(0, 0)), *seen};
  out.unsettled = pg::read_uuid_array(row.at(0, 2));
  co_return out;
}

boost::asio::awaitable<result<flow::store_answer>> store_session::execute(const flow::store_request& what,
                                                                          const shard_view& of) {
  round_trip trip(what, of);
  if (!what.marks.ids.empty()) failpoint("marking");
  auto got = co_await link_.execute_segments(trip.steps(), timeout_);
  if (!got) co_return tl::make_unexpected(got.error());
  co_return trip.answer(std::move(*got));
}

}  // namespace outboxd::relay
