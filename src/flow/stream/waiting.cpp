#include "flow/stream/waiting.hpp"

#include <algorithm>
#include <utility>

namespace outboxd::flow {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t most_look_ups = 200;

// The pause after a failed read.
constexpr auto read_again = 20ms;

}  // namespace

void waiting::start(int client) {
  client_ = client;
  wakes_.clear();
  not_before_ = {};
}

void waiting::add_to(store_request& to, int room, clock::time_point now) {
  if (room <= 0 || now < not_before_) return;
  // A destination that fails again is probed first.
  std::erase_if(wakes_, [&](const wake& one) {
    if (known_.works(one.of)) return false;
    known_.on_found(one.of, client_, now);
    return true;
  });
  waiting_events_request out;
  const auto most = std::min(most_look_ups, static_cast<std::size_t>(room));
  for (const auto& one : known_.take_due(client_, most, now)) {
    if (one.all) {
      std::erase_if(wakes_, [&](const wake& other) { return other.of == one.of; });
      wakes_.push_back({one.of, one.after});
    } else
      out.of.push_back({.of = one.of, .after = one.after});
  }
  const auto probes = out.of.size();
  const auto wakes = std::min(wakes_.size(), most - std::min(most, probes));
  for (std::size_t left = wakes; left > 0; --left, wakes_.pop_front()) {
    const int each = static_cast<int>((static_cast<std::size_t>(room) - probes) / wakes);
    out.of.push_back({.of = wakes_.front().of, .after = wakes_.front().after, .events = each, .all = true});
  }
  if (!out.of.empty()) to.add(std::move(out));
}

void waiting::on_answer(const waiting_events_request& asked, const tried<waiting_answer>& got,
                        clock::time_point now) {
  if (got.result != read_result::done) {
    not_before_ = now + read_again;
    for (const auto& one : asked.of)
      if (one.all) wakes_.push_back({one.of, one.after});
    return;
  }
  for (const auto& one : asked.of) {
    int found = 0;
    std::int64_t last = one.after;
    for (const stored_event& row : got.answer.rows)
      if (row.waits_for == one.of) ++found, last = std::max(last, row.what.seq);
    if (one.all && found >= one.events) wakes_.push_back({one.of, last});
    if (one.all) continue;
    found > 0 ? known_.on_probe(one.of, last) : known_.on_no_probe(one.of, client_, now);
  }
}

clock::time_point waiting::next(int room, clock::time_point now) const {
  if (room <= 0) return clock::time_point::max();
  return std::max(not_before_, wakes_.empty() ? known_.next_due(client_, now) : clock::time_point::min());
}

}  // namespace outboxd::flow
