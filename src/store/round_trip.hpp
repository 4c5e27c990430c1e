// round_trip: converts a request into statements in one pipeline, and interprets their answers.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pg/answer_shape.hpp"
#include "pg/connection.hpp"
#include "pg/sqlstate.hpp"
#include "store/event_rows.hpp"
#include "store/relay_statements.hpp"
#include "store/store_session.hpp"

namespace outboxd::store {

// The object must not be moved between steps() and answer().
class round_trip {
 public:
  round_trip(const flow::store_request& what, const shard_view& of) : what_(what), of_(of) {}

  pg::pipeline steps();
  result<flow::store_answer> answer(std::vector<pg::connection::segment> from);

 private:
  using segment = pg::connection::segment;
  // A pipeline segment under way: the name of its last statement, and the function that processes its
  // answers.
  struct question {
    std::string_view statement;
    std::function<void(segment&)> then;
  };

  void ask(std::string_view statement, std::vector<std::string> parameters,
           std::function<void(segment&)> then);
  // Three parameters: ids, seqs and transactions.
  static std::vector<std::string> key_parameters(const std::vector<event_key>& keys);
  static void append(std::vector<std::string>& to, std::vector<std::string> more);
  // event_parameters: parameters of a statement that returns events, with their texts unless these are
  // withheld; also adds a time limit.
  std::vector<std::string> event_parameters();
  void limit_time(std::chrono::milliseconds to);
  std::vector<std::string> events_of(std::int64_t largest) const;

  // Returns true if an answer can be used; otherwise sets the result that the flow receives.
  template <class Answer>
  bool is_read(const segment& from, const pg::answer_shape& shape, flow::tried<Answer>& into);
  template <class Answer>
  bool is_answered(const segment& from, flow::tried<Answer>& into);
  bool is_written(const segment& from, flow::write_answer& into);
  // Like is_read, for events, which must all belong to this shard.
  template <class Answer>
  std::optional<std::vector<flow::stored_event>> events_in(const segment& from, flow::tried<Answer>& into,
                                                           bool with_exceptions = true);
  // True if the last answer has this shape.
  bool has_shape(const pg::rows& from, const pg::answer_shape& shape);
  // Handles an unexpected answer of PostgreSQL: the session will be closed. Always returns false.
  bool refuse(std::string_view what);
  // The events that an answer identifies by numbers, starting with 1; nullopt if a number is out of range.
  std::optional<std::vector<bool>> numbers_in(const pg::rows& from, std::size_t most);

  bool note_changed(const pg::rows& marked, const flow::mark_request& asked, flow::write_answer& into);

  // Adds the statements of a question; `into` will receive its answer.
  void add(const flow::record_request& asked, flow::write_answer& into);
  void add(const flow::mark_request& asked, flow::write_answer& into);
  void add_mark_by_place(const flow::mark_request& asked, flow::write_answer& into);
  void add(const flow::save_request& asked, flow::save_answer& into);
  void add(const flow::look_request& asked, flow::look_request::answer& into);
  void add(const flow::fetch_request& asked, flow::fetch_request::answer& into);
  void add(const flow::walk_request& asked, flow::walk_request::answer& into);
  void add(const flow::read_request& asked, flow::read_request::answer& into);
  void add(const flow::check_request& asked, flow::check_request::answer& into);
  void add_walk(std::int64_t from, flow::tried<flow::walk_answer>& into);
  void add(const flow::due_request& asked, flow::due_request::answer& into);
  void add(const flow::laggards_request& asked, flow::laggards_request::answer& into);
  void add(const flow::left_request& asked, flow::left_request::answer& into);
  void add(const flow::release_request& asked, flow::release_request::answer& into);
  void add(const flow::pauses_request&, flow::pauses_request::answer& into);
  void add(const flow::dead_request& asked, flow::dead_request::answer& into);
  void add(const flow::held_request& asked, flow::held_request::answer& into);
  void add(const flow::failing_destinations_request& asked, flow::failing_destinations_request::answer& into);
  void add(const flow::resume_request& asked, flow::resume_request::answer& into);
  void add(const flow::waiting_events_request& asked, flow::waiting_events_request::answer& into);

  const flow::store_request& what_;
  const shard_view& of_;
  pg::pipeline steps_;
  std::vector<question> questions_;
  std::string_view answered_;  // the statement whose answer is being processed
  flow::store_answer out_;
  std::optional<error> broken_;
};

template <class Answer>
bool round_trip::is_read(const segment& from, const pg::answer_shape& shape, flow::tried<Answer>& into) {
  return is_answered(from, into) && has_shape(from.answers.back(), shape);
}

template <class Answer>
bool round_trip::is_answered(const segment& from, flow::tried<Answer>& into) {
  if (!from.refusal) return true;
  into.reason = from.refusal->message;
  switch (pg::read_failure(from.sqlstate)) {
    case pg::statement_failure::later:
      into.result = flow::read_result::deferred;
      return false;
    case pg::statement_failure::too_dear:
      into.result = flow::read_result::too_dear;
      return false;
    case pg::statement_failure::of_a_row:
      into.result = flow::read_result::refused;
      into.may_pass = pg::may_pass(from.sqlstate);
      return false;
    case pg::statement_failure::of_session:
      broken_ = from.refusal;
      return false;
  }
  return false;
}

template <class Answer>
std::optional<std::vector<flow::stored_event>> round_trip::events_in(const segment& from,
                                                                     flow::tried<Answer>& into,
                                                                     bool with_exceptions) {
  if (!is_answered(from, into)) return std::nullopt;
  if (const auto why = misfit_of_events(from.answers.back(), with_exceptions)) {
    refuse(*why);
    return std::nullopt;
  }
  auto out = read_events(from.answers.back());
  for (const flow::stored_event& one : out)
    if ((one.what.aggregate & (of_.shards - 1)) != of_.shard) {
      refuse("an event of another shard");
      return std::nullopt;
    }
  return out;
}

}  // namespace outboxd::store
