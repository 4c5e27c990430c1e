#include "flow/stream/settlement.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <utility>

#include "core/failpoint.hpp"

namespace outboxd::flow {

void settlement::mark(slot which) {
  events_.leave_chain(which);
  events_.at(which).now = stage::confirmed{};
  marks_.add(which, state_.now());
}

void settlement::record(slot which, failure_record how) {
  events_.leave_chain(which);
  events_.at(which).now = stage::leaving{kept(std::move(how))};
  records_.add(which, state_.now());
}

void settlement::record_dead(slot which, failure_record how) {
  events_.at(which).now = stage::dying{kept(std::move(how))};
  records_.add(which, state_.now());
}

const failure_record& settlement::record_of(slot which) const {
  const auto& now = events_.at(which).now;
  if (const auto* const dead = std::get_if<stage::dying>(&now)) return *dead->how;
  return *std::get<stage::leaving>(now).how;
}

void settlement::ask(store_request& to, std::size_t most_marks) {
  ask_to_record(to);
  ask_to_mark(to, most_marks);
}

void settlement::ask_to_record(store_request& to) {
  const auto* const group = records_.begin(state_.now(), state_.phase == stream_phase::draining);
  if (group == nullptr) return;
  record_request out;
  for (const slot which : group->slots) out.failures.push_back(record_of(which));
  to.add(std::move(out));
}

void settlement::ask_to_mark(store_request& to, std::size_t most) {
  const auto* const group = marks_.begin(state_.now(), state_.phase == stream_phase::draining, most);
  if (group == nullptr) return;
  mark_request out;
  out.mode = group->mode;
  for (const slot which : group->slots) {
    const event& it = events_.at(which).it.what;
    out.keys.push_back(it.key());
    if (group->mode != mark_mode::by_place) {
      out.sent.push_back({it.written_by, it.event_type, it.payload, it.headers, it.exchange, it.routing_key});
      continue;
    }
    const bool first = out.places.empty();
    out.places.push_back(it.place);
    out.lowest = first ? it.seq : std::min(out.lowest, it.seq);
    out.highest = first ? it.seq : std::max(out.highest, it.seq);
  }
  to.add(std::move(out));
}

// Processes the answer, and returns the events that were written.
std::vector<slot> settlement::end(write_queue& of, const write_answer& got) {
  if (!of.under_way()) return {};
  auto done = of.end(got.result, slots_of(got.left), state_.now());
  if (!done.empty()) written_at_ = state_.now();
  if (of.stuck()) refusal_ = got.reason;
  state_.say_stuck(of, "is published or refused, and PostgreSQL rejected the status update", got.reason);
  return done;
}

std::vector<slot> settlement::on_recorded(const write_answer& got) {
  return end(records_, got);
}

void settlement::on_marked(const write_answer& got) {
  const auto done = end(marks_, got);
  failpoint("marked");
  for (const slot which : slots_of(got.changed))
    state_.tell(notice::changed_after_send{events_.at(which).it.what});
  count_published(done);
  for (const slot which : done) {
    state_.trace(step::marked, which);
    const aggregate of = events_.aggregate_of(which);
    events_.erase(which);
    if (events_.length_of(of) == 0) barriers_.held.on_head_settled(of);
  }
}

clock::time_point settlement::next() const {
  constexpr auto never = clock::time_point::max();
  return std::min(marks_.due().value_or(never), records_.due().value_or(never));
}

std::vector<slot> settlement::refused() const {
  auto out = marks_.refused();
  const auto records = records_.refused();
  out.insert(out.end(), records.begin(), records.end());
  return out;
}

void settlement::clear() {
  marks_.clear();
  records_.clear();
}

std::vector<slot> settlement::slots_of(const std::vector<event_key>& keys) const {
  std::vector<slot> out;
  out.reserve(keys.size());
  for (const event_key& key : keys)
    if (const slot which = events_.find(key); which != no_slot) out.push_back(which);
  return out;
}

void settlement::count_published(const std::vector<slot>& done) const {
  boost::unordered_flat_map<const route*, std::size_t> by_route;
  for (const slot which : done) {
    const auto& of = events_.at(which).route;
    ++by_route[of ? of->by.get() : nullptr];
  }
  const std::string none;
  for (const auto& [one, events] : by_route)
    state_.tell(notice::published{events, one != nullptr ? one->name : none});
}

std::optional<refused_writes> settlement::refuses() const {
  const auto never = clock::time_point::max();
  const auto since =
      std::min(marks_.refused_since().value_or(never), records_.refused_since().value_or(never));
  if (since == never) return std::nullopt;
  const auto waiting = refused().size();
  return refused_writes{.events = std::max<std::size_t>(waiting, 1),
                        .since = since,
                        .all = !written_at_ || *written_at_ < since,
                        .reason = refusal_};
}

boost::unordered_flat_map<aggregate, std::int64_t> settlement::lowest_to_record() const {
  boost::unordered_flat_map<aggregate, std::int64_t> out;
  if (records_.idle() && records_.refused().empty()) return out;
  events_.for_each([&](slot, const unsettled::entry& one) {
    const auto* const leaving = std::get_if<stage::leaving>(&one.now);
    if (leaving == nullptr || leaving->how->to == exception::scheduled) return;
    const auto seq = leaving->how->to == exception::backing_off ? position::before_all : one.it.what.seq;
    const auto [at, is_first] = out.try_emplace(one.it.what.aggregate, seq);
    at->second = std::min(at->second, seq);
  });
  return out;
}

}  // namespace outboxd::flow
