// The part of stream.hpp behind the write queues: PostgreSQL's answers to records and marks.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/failpoint.hpp"
#include "flow/stream/stream.hpp"

namespace outboxd::flow {

void stream::say_stuck(const write_queue& what, std::string_view trouble, const std::string& reason) const {
  if (const auto which = what.stuck())
    tell_(notice::stuck{events_.at(*which).it.what, fmt::format("{}: {}", trouble, reason)});
}

std::optional<stream::refused_writes> stream::refuses() const {
  const auto never = clock::time_point::max();
  const auto since = std::min(writes_.marks.refused_since().value_or(never),
                              writes_.records.refused_since().value_or(never));
  if (since == never) return std::nullopt;
  const auto waiting = writes_.marks.refused().size() + writes_.records.refused().size();
  return refused_writes{.events = std::max<std::size_t>(waiting, 1),
                        .since = since,
                        .all = !writes_.written_at || *writes_.written_at < since,
                        .reason = writes_.refusal};
}

void stream::say_unwritten(const write_queue& what, const std::string& reason) {
  if (what.stuck()) writes_.refusal = reason;
  say_stuck(what, "is published or refused, and PostgreSQL rejected the status update", reason);
}

void stream::take(const record_request&, write_answer& got) {
  if (!writes_.records.under_way()) return;
  const auto done = writes_.records.end(got.result, slots_of(got.left), lanes_.now());
  if (!done.empty()) writes_.written_at = lanes_.now();
  say_unwritten(writes_.records, got.reason);
  for (const slot which : done) {
    const aggregate of = events_.aggregate_of(which);
    const failure_record how = to_record(which);
    if (how.to == exception::dead) {
      events_.leave_chain(which);
      if (limits_.after_dead == after_dead::hold) {
        barriers_.dead.add(of);
        barriers_.held.begin(of, hold::draining);
        park_rest(of);
      }
      if (events_.length_of(of) == 0) barriers_.held.on_head_settled(of);
      events_.erase(which);
      offer_next(of);
      continue;
    }
    const bool is_over = how.code == paused_code && !is_paused(which);
    // While it was not written yet, nothing was found in the table that waits there.
    if (how.waits_for && phase_ == phase::running)
      lanes_.destinations().on_recorded(*how.waits_for, client_, lanes_.now());
    events_.erase(which);
    if (how.to != exception::scheduled) barriers_.held.on_recorded(of);
    if (is_over) scanner_.resume();
    if (how.to != exception::parked && how.delay) reader_.due_within(*how.delay, lanes_.now());
  }
}

void stream::take(const mark_request&, write_answer& got) {
  if (!writes_.marks.under_way()) return;
  const auto done = writes_.marks.end(got.result, slots_of(got.left), lanes_.now());
  if (!done.empty()) writes_.written_at = lanes_.now();
  say_unwritten(writes_.marks, got.reason);
  failpoint("marked");
  for (const slot which : slots_of(got.changed)) tell_(notice::changed_after_send{events_.at(which).it.what});
  count_published(done);
  for (const slot which : done) {
    tell(step::marked, which);
    const aggregate of = events_.aggregate_of(which);
    events_.erase(which);
    if (events_.length_of(of) == 0) barriers_.held.on_head_settled(of);
  }
}

void stream::count_published(const std::vector<slot>& done) const {
  boost::unordered_flat_map<const route*, std::size_t> by_route;
  for (const slot which : done) {
    const auto& of = events_.at(which).route;
    ++by_route[of ? of->by.get() : nullptr];
  }
  const std::string none;
  for (const auto& [one, events] : by_route)
    tell_(notice::published{events, one != nullptr ? one->name : none});
}

}  // namespace outboxd::flow
