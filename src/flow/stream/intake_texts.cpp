// intake_texts: the part of intake.hpp that reads rows again: to fetch texts, and to check whether rows have
// changed.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "flow/stream/intake.hpp"

namespace outboxd::flow {
namespace {

using namespace std::chrono_literals;

// While the disk cannot be read, the pauses between reads of an event grow to this limit, for half a minute
// in all.
constexpr auto disk_retries_for = 32s;

// Maximum rows per check: usually the events of less than a second.
constexpr std::size_t most_looks = 500;

}  // namespace

// Fetches rows of little more than one batch in total, but at least one row, while there is memory.
void intake::ask_to_fetch(store_request& to) {
  if (!may_fetch()) return;
  std::size_t fitting = 0;
  std::int64_t bytes = 0;
  for (const slot which : fetches_.fresh()) {
    bytes += events_.at(which).it.size;
    if (fitting > 0 && (memory_is_full() || bytes > limits_.batch_bytes)) break;
    ++fitting;
  }
  const auto* group = fetches_.begin_fitting(state_.now(), fitting);
  if (group == nullptr) return;
  fetch_request out;
  for (const slot which : group->slots) out.keys.push_back(events_.at(which).it.what.key());
  const bool alone = group->slots.size() == 1;
  out.measured =
      (to.keys_only || group->is_single_again()) && !(alone && events_.at(group->slots.front()).immeasurable);
  to.add(std::move(out));
}

void intake::take(const fetch_request& asked, tried<std::vector<stored_event>>& got) {
  const auto how = got.result == read_result::done       ? write_result::done
                   : got.result == read_result::deferred ? write_result::deferred
                                                         : write_result::refused;
  if (got.result == read_result::too_dear) read_by_keys();
  auto done = fetches_.end(how, {}, state_.now());
  if (const auto bad = fetches_.stuck()) {
    // If the server is slow, the event is not at fault.
    if (got.result == read_result::too_dear || (got.may_pass && fetches_.stuck_for() < disk_retries_for))
      return state_.say_stuck(fetches_, "cannot be read by PostgreSQL at the moment", got.reason);
    fetches_.drop_stuck();
    if (asked.measured && !got.may_pass && !std::exchange(events_.at(*bad).immeasurable, true))
      return fetches_.add(*bad, state_.now());  // the texts may be readable even if measuring their size
                                                // fails
    return die_unread(*bad, got.reason);
  }
  std::vector<slot> put_off;
  for (stored_event& one : got.answer) {
    const slot which = events_.find(one.what.key());
    if (which == no_slot || !events_.at(which).is<stage::fetching>()) continue;
    if (one.put_off) {
      if (one.from == exception::backing_off) put_off.push_back(which);
      continue;
    }
    if (one.withheld && one.what.aggregate == events_.aggregate_of(which)) {
      if (std::erase(done, which) > 0) on_still_withheld(which, one.size);
      continue;
    }
    if (!events_.complete(which, std::move(one))) continue;
    stamp_and_route(which);
    std::erase(done, which);
    dispatcher_.on_fetched(which);
  }
  for (const slot which : done)  // deleted, replaced, finished, or put off by an operator
    dispatcher_.on_gone(which, std::find(put_off.begin(), put_off.end(), which) != put_off.end());
}

// The event is still withheld: either other events filled the answer, or no broker would accept an event of
// this size.
void intake::on_still_withheld(slot which, std::int64_t size) {
  events_.at(which).it.size = size;
  if (size <= largest_message) return fetches_.add(which, state_.now());
  die_unread(which,
             fmt::format("its texts have {} bytes, and RabbitMQ accepts {} at most", size, largest_message));
}

void intake::die_unread(slot which, std::string reason) {
  events_.at(which).now = stage::queued{};
  dispatcher_.die(which, failure::unreadable, std::move(reason));
}

// Also checks the successors in the chain that would be stale when their turn comes.
void intake::ask_to_look(store_request& to) {
  const auto now = state_.now();
  const auto* const group = looks_.begin_fitting(now, most_looks);
  if (group == nullptr) return;
  look_request out;
  const auto add = [&](slot which) {
    const event& it = events_.at(which).it.what;
    out.rows.push_back({it.key(), it.place, it.written_by});
  };
  std::for_each(group->slots.begin(), group->slots.end(), add);
  for (const slot first : group->slots)
    for (slot which = events_.at(first).after; which != no_slot && out.rows.size() < 2 * most_looks;
         which = events_.at(which).after) {
      const auto& one = events_.at(which);
      if (!one.is<stage::queued>() || one.it.withheld || now - one.seen_at <= limits_.fresh_for / 2) break;
      add(which);
    }
  to.add(std::move(out));
}

void intake::take(const look_request& asked, tried<std::vector<event_key>>& got) {
  const bool later = got.result == read_result::deferred;
  const auto done = looks_.end(later ? write_result::deferred : write_result::done, {}, state_.now());
  if (later) return;
  auto& same = got.answer;  // empty if the check failed: then each row is fetched
  std::sort(same.begin(), same.end());
  for (const row_version& one : asked.rows) {
    const slot which = events_.find(one.key);
    if (which == no_slot) continue;
    auto& entry = events_.at(which);
    if (!entry.is<stage::queued>() && !entry.is<stage::fetching>()) continue;
    if (std::binary_search(same.begin(), same.end(), one.key))
      entry.seen_at = state_.asked_at;
    else
      events_.withhold(which);
  }
  for (const slot which : done) dispatcher_.on_fetched(which);
}

}  // namespace outboxd::flow
