// round_trip: the statements of a request, in one pipeline, and what their answers mean.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pg/connection.hpp"
#include "pg/relay_statements.hpp"
#include "pg/sqlstate.hpp"
#include "relay/store_session.hpp"

namespace outboxd::relay {

class round_trip {
 public:
  round_trip(const flow::store_request& what, const shard_view& of) : what_(what), of_(of) {}

  pg::pipeline steps();
  result<flow::store_answer> answer(std::vector<pg::connection::segment> from);

 private:
  using segment = pg::connection::segment;
  // A statement under way: what to do with its answer. False: the session is of no more use.
  using reader_of = std::function<bool(segment&)>;

  void add(std::string_view statement, std::vector<std::string> parameters, reader_of then);
  std::vector<std::string> event_parameters() const;
  std::vector<std::string> events_of(std::int64_t largest) const;

  // Whether an answer can be used; if not, what it means for the flow.
  template <class Answer>
  bool is_read(const segment& from, flow::tried<Answer>& into);
  bool is_written(const segment& from, flow::write_answer& into);

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
  void add_pauses();
  void add_resumed();
  void add_dead();

  const flow::store_request& what_;
  const shard_view& of_;
  pg::pipeline steps_;
  std::vector<reader_of> then_;
  flow::store_answer out_;
  std::optional<error> broken_;
};

template <class Answer>
bool round_trip::is_read(const segment& from, flow::tried<Answer>& into) {
  if (!from.refusal) return true;
  into.reason = from.refusal->message;
  switch (pg::read_failure(from.sqlstate)) {
    case pg::statement_failure::later:
      into.result = flow::read_result::deferred;
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

}  // namespace outboxd::relay
