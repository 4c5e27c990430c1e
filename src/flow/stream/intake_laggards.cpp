// The part of intake.hpp that reads each laggard by itself.
#include <algorithm>
#include <utility>

#include "flow/stream/intake.hpp"

namespace outboxd::flow {
namespace {

using namespace std::chrono_literals;

// The pause after a failed read of laggards.
constexpr auto laggards_pause = 20ms;

}  // namespace

// Half of the memory is for laggards, the rest for the others.
std::uint32_t intake::share_of_laggard() const {
  const int half = lanes_.limit().worth_reading(limits_.read.batch) * limits_.batches / 2;
  return std::max(1U, static_cast<std::uint32_t>(half) / static_cast<std::uint32_t>(laggards_.size()));
}

bool intake::is_full(aggregate which) const {
  const auto length = events_.length_of(which);
  if (length < longest_chain()) return false;
  return laggards_.state_of(which) != lag::follows || length >= share_of_laggard();
}

// Laggards whose chains are worth filling up. Events to be parked need no chain.
std::vector<left_behind> intake::hungry() const {
  if (laggards_.empty() || state_.now() < pace_.laggards_not_before) return {};
  return laggards_.where([this](aggregate which, lag how) {
    return how == lag::overtaken || events_.length_of(which) <= share_of_laggard() / 2;
  });
}

void intake::ask_for_laggards(store_request& to) {
  if (to.asks_one_of<read_request, walk_request, check_request>()) to.passing_over = laggards_.names();
  const int free = std::min(room(), limits_.read.batch);
  if (free <= 0) return;
  auto of = hungry();
  if (of.empty()) return;
  const int each = std::min(free / static_cast<int>(of.size()), static_cast<int>(share_of_laggard() / 2));
  to.add(
      laggards_request{.of = std::move(of), .seq_span = limits_.read.seq_span, .events = std::max(1, each)});
}

// In seq order, not one aggregate after the other, because all may have been delayed. Events beyond the
// position come with the others. Below it some wait as well: something earlier of the same aggregate,
// committed late, may be still to be read.
void intake::take(const laggards_request&, tried<laggards_answer>& got) {
  if (got.wants_keys_only()) read_by_keys();
  if (got.result != read_result::done) {
    pace_.laggards_not_before = state_.now() + laggards_pause;
    return;
  }
  std::optional<std::int64_t> waits;  // and all above it
  for (stored_event& one : got.answer.rows) {
    if (one.what.seq > reader_.passed()) break;
    if (!reader_.knows_what_is_before(one.what.seq, one.what.tx)) {
      waits = one.what.seq;
      pace_.laggards_not_before = state_.now() + laggards_pause;
      break;
    }
    const aggregate of = one.what.aggregate;
    const auto due_in = one.due_in;
    const bool overtaken = laggards_.state_of(of) == lag::overtaken && is_full(of);
    const bool parked = barriers_.hold(of) || overtaken;
    const auto added = events_.add(std::move(one));
    if (!added) continue;
    ++pace_.found_of_laggards;
    on_texts(*added);
    take_place(*added, due_in, parked);
  }
  for (auto [which, to] : got.answer.looked_to) {
    if (waits) to = std::min(to.value_or(*waits), *waits - 1);
    laggards_.on_read(which, to, reader_.passed());
    // What is parked of it may have waited for that.
    if (!laggards_.state_of(which) && events_.length_of(which) == 0) barriers_.held.on_head_settled(which);
  }
}

}  // namespace outboxd::flow
