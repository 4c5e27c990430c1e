// The part of stream.hpp that checks rows again that may have changed while their events wait in memory.
#include <algorithm>

#include "flow/stream/stream.hpp"

namespace outboxd::flow {
namespace {

// Rows in one look: usually sent within a second.
constexpr std::size_t most_looks = 500;

}  // namespace

// A dead letter has the content that failed, whatever the row says by now. An event that was read because its
// destination works is not sent when that fails again. In pipelined order one that waits for a look is not
// overtaken by those behind it, which their lane has already.
bool stream::is_fresh(slot which, clock::time_point now) const {
  const auto& one = events_.at(which);
  if (one.is<stage::letter>()) return true;
  if (one.it.rests && !lanes_.destinations().may_go(*one.it.waits_for, one.it.what.seq)) return false;
  return is_young(one, now) && !overtakes(one);
}

bool stream::is_young(const unsettled::entry& one, clock::time_point now) const {
  return now - one.seen_at <= limits_.fresh_for;
}

// The event before it was withdrawn from their lane, to wait or to go to the end of its queue.
bool stream::overtakes(const unsettled::entry& one) const {
  if (limits_.order == order_mode::strict || one.before == no_slot) return false;
  const auto& before = events_.at(one.before);
  return before.is_unsent() || before.turn > one.turn;
}

void stream::on_stale(slot which, clock::time_point now) {
  on_unsent(which);
  auto& one = events_.at(which);
  if (!one.is<stage::queued>()) return;
  if (is_young(one, now)) return offer_next(events_.aggregate_of(which));
  one.now = stage::fetching{};
  writes_.looks.add(which, now);
}

// Those behind it in its chain will have waited as long when it is their turn.
void stream::ask_to_look(store_request& to) {
  const auto now = lanes_.now();
  const auto* const group = writes_.looks.begin_fitting(now, most_looks);
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

void stream::take(const look_request& asked, tried<std::vector<event_key>>& got) {
  const bool later = got.result == read_result::deferred;
  const auto done = writes_.looks.end(later ? write_result::deferred : write_result::done, {}, lanes_.now());
  if (later) return;
  auto& same = got.answer;  // empty if it could not be read: then each is fetched
  std::sort(same.begin(), same.end());
  for (const row_version& one : asked.rows) {
    const slot which = events_.find(one.key);
    if (which == no_slot) continue;
    auto& entry = events_.at(which);
    if (!entry.is<stage::queued>() && !entry.is<stage::fetching>()) continue;
    if (std::binary_search(same.begin(), same.end(), one.key))
      entry.seen_at = agenda_.asked_at;
    else
      events_.withhold(which);
  }
  for (const slot which : done) on_fetched(which);
}

}  // namespace outboxd::flow
