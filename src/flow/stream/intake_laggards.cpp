// intake_laggards: the part of intake.hpp that reads each laggard separately.
#include <algorithm>
#include <utility>

#include "flow/stream/intake.hpp"

namespace outboxd::flow {
namespace {

using namespace std::chrono_literals;

// The pause after a failed read of laggards.
constexpr auto laggards_pause = 20ms;

}  // namespace

// Laggards get half of the memory, all other aggregates the rest.
std::uint32_t intake::share_of_laggard() const {
  const int half = lanes_.limit().worth_reading(limits_.read.batch) * limits_.batches / 2;
  return std::max(1U, static_cast<std::uint32_t>(half) / static_cast<std::uint32_t>(laggards_.size()));
}

bool intake::is_full(aggregate which) const {
  const auto length = events_.length_of(which);
  if (length < longest_chain()) return false;
  return laggards_.state_of(which) != lag::follows || length >= share_of_laggard();
}

// Returns the laggards whose chains are worth filling. If a laggard's events will be parked anyway, its chain
// does not matter.
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

// Rows come in seq order, not by aggregate, because any of them may have been delayed. Rows beyond the
// position are left for the regular read. Rows below the position may have to wait, too: an earlier event of
// the aggregate may have been committed late, and may not be read yet.
void intake::take(const laggards_request&, tried<laggards_answer>& got) {
  if (got.wants_keys_only()) read_by_keys();
  if (got.result != read_result::done) {
    pace_.laggards_not_before = state_.now() + laggards_pause;
    return;
  }
  std::optional<std::int64_t> waits;  // this event and all later ones wait
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
    stamp_and_route(*added);
    take_place(*added, due_in, parked);
  }
  for (auto [which, to] : got.answer.looked_to) {
    if (waits) to = std::min(to.value_or(*waits), *waits - 1);
    laggards_.on_read(which, to, reader_.passed());
    // Parked events of the lagging aggregate may have been waiting until it was read completely.
    if (!laggards_.state_of(which) && events_.length_of(which) == 0) barriers_.held.on_head_settled(which);
  }
}

}  // namespace outboxd::flow
