// request_by_name: the questions of a request and their answers, each by a name, for tests that look at some
// of them.
#pragma once

#include <optional>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "flow/stream/store.hpp"

namespace outboxd::test {

// What is not asked is empty.
struct named_request {
  named_request() = default;
  explicit named_request(const flow::store_request& from)
      : keys_only(from.keys_only), passing_over(from.passing_over) {
    for (const auto& one : from.questions) std::visit([this](const auto& each) { take(each); }, one);
  }

  bool keys_only = false;
  std::vector<flow::aggregate> passing_over;
  std::vector<flow::failure_record> failures;
  flow::mark_request marks;
  std::optional<flow::position> save;
  std::vector<std::int64_t> save_unsettled;
  std::vector<flow::row_version> looks;
  std::vector<event_key> fetch;
  bool fetch_is_measured = false;
  std::optional<std::int64_t> walk_from;
  std::optional<flow::read_request> read;
  std::optional<std::int64_t> check_from;
  std::optional<flow::due_cursor> due;
  int due_events = 0;
  std::optional<flow::laggards_request> laggards;
  std::vector<std::int64_t> left;
  std::vector<flow::aggregate> release;
  int release_events = 0;
  bool pauses = false;
  std::optional<std::int64_t> dead_after;
  std::optional<flow::aggregate> held_after;
  std::optional<flow::failing_destinations_request> waits;
  std::vector<flow::waiting_events_request::look_up> waiting;
  std::optional<flow::resume_request> resume;

 private:
  void take(const flow::record_request& one) { failures = one.failures; }
  void take(const flow::mark_request& one) { marks = one; }
  void take(const flow::save_request& one) { save = one.at, save_unsettled = one.unsettled; }
  void take(const flow::look_request& one) { looks = one.rows; }
  void take(const flow::fetch_request& one) { fetch = one.keys, fetch_is_measured = one.measured; }
  void take(const flow::walk_request& one) { walk_from = one.from; }
  void take(const flow::read_request& one) { read = one; }
  void take(const flow::check_request& one) { check_from = one.from; }
  void take(const flow::due_request& one) { due = one.after, due_events = one.events; }
  void take(const flow::laggards_request& one) { laggards = one; }
  void take(const flow::left_request& one) { left = one.seqs; }
  void take(const flow::release_request& one) { release = one.of, release_events = one.events; }
  void take(const flow::pauses_request&) { pauses = true; }
  void take(const flow::dead_request& one) { dead_after = one.after; }
  void take(const flow::held_request& one) { held_after = one.after; }
  void take(const flow::failing_destinations_request& one) { waits = one; }
  void take(const flow::waiting_events_request& one) { waiting = one.of; }
  void take(const flow::resume_request& one) { resume = one; }
};

struct named_answers {
  named_answers() = default;
  named_answers(const flow::store_request& asked, flow::store_answer from) {
    for (std::size_t i = 0; i < asked.questions.size(); ++i)
      std::visit(
          [&](const auto& one) {
            using answer = typename std::decay_t<decltype(one)>::answer;
            part_of(one) = std::get<answer>(std::move(from.replies[i]));
          },
          asked.questions[i]);
  }
  flow::store_answer in_order_of(const flow::store_request& asked) {
    flow::store_answer out;
    for (const auto& question : asked.questions)
      std::visit([&](const auto& one) { out.replies.emplace_back(part_of(one)); }, question);
    return out;
  }

  flow::write_answer failures;
  flow::write_answer marks;
  flow::save_answer save{.saved = true};
  flow::tried<std::vector<event_key>> looked;
  flow::tried<std::vector<flow::stored_event>> fetched;
  flow::tried<flow::walk_answer> walk;
  flow::tried<flow::read_answer> read;
  flow::tried<flow::walk_answer> checked;
  flow::tried<flow::due_answer> due;
  flow::tried<flow::laggards_answer> laggards;
  flow::tried<std::vector<flow::stored_event>> left;
  flow::tried<flow::release_answer> released;
  flow::tried<flow::pauses_answer> pauses;
  flow::tried<flow::dead_answer> dead;
  flow::tried<flow::held_answer> held;
  flow::tried<flow::waits_answer> waits;
  flow::tried<flow::waiting_answer> waiting;
  flow::tried<flow::resumed_answer> resumed;

 private:
  flow::record_request::answer& part_of(const flow::record_request&) { return failures; }
  flow::mark_request::answer& part_of(const flow::mark_request&) { return marks; }
  flow::save_request::answer& part_of(const flow::save_request&) { return save; }
  flow::look_request::answer& part_of(const flow::look_request&) { return looked; }
  flow::fetch_request::answer& part_of(const flow::fetch_request&) { return fetched; }
  flow::walk_request::answer& part_of(const flow::walk_request&) { return walk; }
  flow::read_request::answer& part_of(const flow::read_request&) { return read; }
  flow::check_request::answer& part_of(const flow::check_request&) { return checked; }
  flow::due_request::answer& part_of(const flow::due_request&) { return due; }
  flow::laggards_request::answer& part_of(const flow::laggards_request&) { return laggards; }
  flow::left_request::answer& part_of(const flow::left_request&) { return left; }
  flow::release_request::answer& part_of(const flow::release_request&) { return released; }
  flow::pauses_request::answer& part_of(const flow::pauses_request&) { return pauses; }
  flow::dead_request::answer& part_of(const flow::dead_request&) { return dead; }
  flow::held_request::answer& part_of(const flow::held_request&) { return held; }
  flow::failing_destinations_request::answer& part_of(const flow::failing_destinations_request&) {
    return waits;
  }
  flow::waiting_events_request::answer& part_of(const flow::waiting_events_request&) { return waiting; }
  flow::resume_request::answer& part_of(const flow::resume_request&) { return resumed; }
};

}  // namespace outboxd::test
