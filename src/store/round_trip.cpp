// round_trip: the statements that write. round_trip_reads.cpp contains the statements that read.
#include "store/round_trip.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <type_traits>
#include <utility>
#include <variant>

#include "core/utf8.hpp"
#include "pg/binary.hpp"
#include "store/content_digest.hpp"

namespace outboxd::store {
namespace {

constexpr std::array number_cells{pg::number_cell};
constexpr std::array marked_cells{pg::number_cell, pg::boolean_cell};

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

std::optional<std::string> name_of(flow::failure_scope what) {
  switch (what) {
    case flow::failure_scope::routing_key:
      return std::nullopt;
    case flow::failure_scope::exchange:
      return "exchange";
    case flow::failure_scope::topic:
      return "topic";
  }
  return std::nullopt;
}

}  // namespace

std::vector<std::string> round_trip::key_parameters(const std::vector<event_key>& keys) {
  std::vector<event_id> ids;
  std::vector<std::int64_t> seqs;
  std::vector<std::uint64_t> txs;
  for (const event_key& one : keys) {
    ids.push_back(one.id);
    seqs.push_back(one.seq);
    txs.push_back(one.tx);
  }
  return {pg::uuid_array(ids), pg::int8_array(seqs), pg::xid8_array(txs)};
}

void round_trip::append(std::vector<std::string>& to, std::vector<std::string> more) {
  to.insert(to.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

bool round_trip::is_written(const segment& from, flow::write_answer& into) {
  if (!from.refusal) return true;
  into.reason = from.refusal->message;
  switch (pg::write_failure(from.sqlstate)) {
    case pg::statement_failure::later:
    case pg::statement_failure::too_dear:
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

bool round_trip::refuse(std::string_view what) {
  broken_ = error{
      fault::transient,
      fmt::format(
          "PostgreSQL has answered the statement {} with {}, which it was not asked for: closing the session",
          answered_, what)};
  return false;
}

bool round_trip::has_shape(const pg::rows& from, const pg::answer_shape& shape) {
  const auto why = pg::misfit(from, shape);
  return !why || refuse(*why);
}

std::optional<std::vector<bool>> round_trip::numbers_in(const pg::rows& from, std::size_t most) {
  if (!has_shape(from, {.cells = number_cells, .most_rows = static_cast<int>(most)})) return std::nullopt;
  std::vector<bool> out(most, false);
  for (int row = 0; row < from.size(); ++row) {
    const auto number = pg::read_int8(from.at(row, 0));
    if (number < 1 || number > static_cast<std::int64_t>(most) || out[static_cast<std::size_t>(number - 1)]) {
      refuse("an event twice, or one that was not asked for");
      return std::nullopt;
    }
    out[static_cast<std::size_t>(number - 1)] = true;
  }
  return out;
}

void round_trip::ask(std::string_view statement, std::vector<std::string> parameters,
                     std::function<void(segment&)> then) {
  steps_.run(std::string(statement), std::move(parameters));
  if (statement == statement::mark) steps_.then_failpoint("half_sent");
  questions_.push_back({statement, std::move(then)});
  steps_.end_segment();
}

std::vector<std::string> round_trip::events_of(std::int64_t largest) const {
  return {pg::int8(largest), pg::int8(of_.shards - 1), pg::int8(of_.shard)};
}

// The size of a row as text is known only after the conversion, so the statement gets a time limit. The limit
// allows for several such statements in one round trip.
std::vector<std::string> round_trip::event_parameters() {
  if (what_.keys_only) return events_of(-1);
  limit_time(of_.patience / 5);
  return events_of(of_.largest);
}

void round_trip::limit_time(std::chrono::milliseconds to) {
  const auto whole = std::max(to, std::chrono::milliseconds(1));  // 0 would mean no limit
  steps_.run(std::string(statement::time_limit), {std::to_string(whole.count())});
}

// The record of a dead event must survive a crash; otherwise its successors would be published before the
// event is dead again. But the commit does not wait for a standby, because a lost standby would stop all
// events.
void round_trip::add(const flow::record_request& asked, flow::write_answer& into) {
  std::vector<event_key> keys;
  std::vector<std::optional<std::string>> exceptions, codes, reasons, scopes, exchanges, routing_keys;
  std::vector<std::int64_t> attempts;
  std::vector<std::optional<std::int64_t>> delays, destinations;
  bool dead = false;
  for (const auto& one : asked.failures) {
    const bool backs_off = one.to == flow::exception::backing_off;
    dead = dead || one.to == flow::exception::dead;
    keys.push_back(one.key);
    exceptions.emplace_back(name_of(one.to));
    attempts.push_back(one.counts_attempt ? 1 : 0);
    delays.push_back(backs_off && one.delay ? std::optional<std::int64_t>(one.delay->count()) : std::nullopt);
    codes.push_back(one.code.empty() ? std::nullopt : std::optional(one.code));
    reasons.push_back(one.reason.empty() ? std::nullopt : std::optional(valid_utf8(one.reason)));
    scopes.push_back(name_of(one.scope));
    const bool waits = one.waits_for.has_value();
    destinations.push_back(waits ? std::optional(static_cast<std::int64_t>(*one.waits_for)) : std::nullopt);
    exchanges.push_back(waits ? std::optional(valid_utf8(one.exchange)) : std::nullopt);
    routing_keys.push_back(waits ? std::optional(valid_utf8(one.routing_key)) : std::nullopt);
  }
  if (dead) steps_.text("SELECT set_config('synchronous_commit', 'local', true)");
  auto parameters = key_parameters(keys);
  append(parameters, {pg::text_array(exceptions), pg::int8_array(attempts), pg::int8_array(delays),
                      pg::text_array(codes), pg::text_array(reasons), pg::text_array(scopes),
                      pg::int8_array(destinations), pg::text_array(exchanges), pg::text_array(routing_keys)});
  steps_.run(std::string(statement::record), std::move(parameters));
  // left = unfinished rows that `record` did not return, because other sessions have locked them.
  ask(statement::unfinished, key_parameters(keys), [this, keys, &into](segment& got) {
    if (!is_written(got, into)) return;
    const auto recorded = numbers_in(got.answers[got.answers.size() - 2], keys.size());
    if (!recorded) return;
    const auto unfinished = numbers_in(got.answers.back(), keys.size());
    if (!unfinished) return;
    for (std::size_t i = 0; i < keys.size(); ++i)
      if ((*unfinished)[i] && !(*recorded)[i]) into.left.push_back(keys[i]);
  });
}

void round_trip::add(const flow::mark_request& asked, flow::write_answer& into) {
  if (asked.mode == flow::mark_mode::by_place) return add_mark_by_place(asked, into);
  std::vector<std::uint32_t> writers;
  std::vector<std::string> digests;
  for (const flow::sent_content& one : asked.sent) {
    writers.push_back(one.written_by);
    digests.push_back(digest_of(one));
  }
  auto parameters = key_parameters(asked.keys);
  append(parameters, {pg::xid_array(writers), pg::bytea_array(digests)});
  steps_.run(std::string(statement::mark_by_key), std::move(parameters));
  ask(statement::unfinished, key_parameters(asked.keys), [this, &asked, &into](segment& got) {
    if (!is_written(got, into) || !note_changed(got.answers[got.answers.size() - 2], asked, into)) return;
    const auto unfinished = numbers_in(got.answers.back(), asked.keys.size());
    if (!unfinished) return;
    for (std::size_t i = 0; i < unfinished->size(); ++i)
      if ((*unfinished)[i]) into.left.push_back(asked.keys[i]);
  });
}

void round_trip::add_mark_by_place(const flow::mark_request& asked, flow::write_answer& into) {
  auto parameters = key_parameters(asked.keys);
  parameters.insert(parameters.begin() + 1, pg::tid_array(asked.places));
  append(parameters, {pg::int8(asked.lowest), pg::int8(asked.highest)});
  ask(statement::mark, std::move(parameters), [this, &asked, &into](segment& got) {
    if (!is_written(got, into)) return;
    const auto marked = got.answers.back().affected();
    const auto wanted = static_cast<std::int64_t>(asked.keys.size());
    if (marked > wanted)
      refuse(fmt::format("{} marked rows instead of {}", marked, wanted));
    else if (marked < wanted)
      into.result = flow::write_result::missed;
  });
}

// Processes the answer to a mark by key.
bool round_trip::note_changed(const pg::rows& marked, const flow::mark_request& asked,
                              flow::write_answer& into) {
  const auto& keys = asked.keys;
  if (!has_shape(marked, {.cells = marked_cells, .most_rows = static_cast<int>(keys.size())})) return false;
  for (int row = 0; row < marked.size(); ++row) {
    const auto number = pg::read_int8(marked.at(row, 0));
    if (number < 1 || number > static_cast<std::int64_t>(keys.size())) return refuse("another event");
    if (pg::read_bool(marked.at(row, 1))) into.changed.push_back(keys[static_cast<std::size_t>(number - 1)]);
  }
  return true;
}

void round_trip::add(const flow::save_request& asked, flow::save_answer& into) {
  ask(statement::save,
      {pg::int4(of_.shard), pg::int8(asked.at.seq), asked.at.seen.text(), pg::int8_array(asked.unsettled)},
      [this, &into](segment& got) {
        into.saved = !got.refusal;
        if (got.refusal && pg::write_failure(got.sqlstate) == pg::statement_failure::of_session)
          broken_ = got.refusal;
      });
}

void round_trip::add(const flow::failing_destinations_request& asked,
                     flow::failing_destinations_request::answer& into) {
  constexpr int most = 1'000;
  auto parameters = events_of(of_.largest);
  append(parameters,
         {pg::int8(static_cast<std::int64_t>(asked.after.of)), pg::int8(asked.after.seq),
          pg::int8(asked.give_up_after ? asked.give_up_after->count() : -1), pg::boolean(!asked.only_reads)});
  ask(statement::waits, std::move(parameters), [this, &into](segment& got) {
    flow::write_answer changed;  // this statement writes, and fails like a write
    if (!is_written(got, changed)) {
      into.result = changed.result == flow::write_result::refused ? flow::read_result::refused
                                                                  : flow::read_result::deferred;
      return;
    }
    static constexpr std::array cells{pg::number_cell, pg::number_cell, pg::boolean_cell};
    const pg::rows& rows = got.answers.back();
    if (!has_shape(rows, {.cells = cells, .most_rows = most})) return;
    auto& out = into.answer;
    for (int row = 0; row < rows.size(); ++row) {
      const auto of = static_cast<flow::destination_id>(pg::read_int8(rows.at(row, 0)));
      if (rows.size() == most) out.upto = {of, pg::read_int8(rows.at(row, 1))};
      if (pg::read_bool(rows.at(row, 2)) && (out.found.empty() || out.found.back() != of))
        out.found.push_back(of);
    }
  });
}

pg::pipeline round_trip::steps() {
  out_.replies.reserve(what_.questions.size());
  for (const flow::store_question& one : what_.questions)
    std::visit(
        [this](const auto& asked) {
          using answer = typename std::decay_t<decltype(asked)>::answer;
          add(asked, std::get<answer>(out_.replies.emplace_back(std::in_place_type<answer>)));
        },
        one);
  return std::move(steps_);
}

result<flow::store_answer> round_trip::answer(std::vector<segment> from) {
  if (from.size() != questions_.size()) refuse(fmt::format("{} answers", from.size()));
  for (std::size_t i = 0; i < questions_.size() && !broken_; ++i) {
    const question& asked = questions_[i];
    answered_ = asked.statement;
    asked.then(from[i]);
  }
  if (broken_) return tl::make_unexpected(*broken_);
  return std::move(out_);
}

}  // namespace outboxd::store
