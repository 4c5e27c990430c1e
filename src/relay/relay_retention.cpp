// relay_retention: the functions of relay.hpp that delete old rows.
#include <algorithm>
#include <utility>

#include "relay/relay.hpp"

namespace outboxd::relay {
namespace {

boost::asio::awaitable<void> keep(std::shared_ptr<pruner> one) {
  co_await one->run();
}

}  // namespace

retention_settings retention_of(const relay_settings& from) {
  auto out = from.keep;
  if (from.leader.database.after_publish == store::after_publish::remove) out.published.reset();
  return out;
}

bool relay::leads_first() const {
  return std::any_of(leaders_.begin(), leaders_.end(),
                     [](const auto& one) { return one->leads() == first_shard; });
}

// The pruner also runs if no row is ever deleted, because it starts new partitions.
void relay::begin_pruning() {
  end_pruning();
  pruner_ = std::make_shared<pruner>(
      io_.get_executor(), settings_.leader.database, retention_of(settings_),
      prune_report{.deleted = [this](prunable what, std::int64_t rows) { on_pruned(what, rows); },
                   .ended = [this](const prune_run& run) { on_prune_ended(run); },
                   .refused =
                       [this](prunable what, const error& why) {
                         tell_(notice::prune_refused{what, why});
                       },
                   .kept =
                       [this](prunable what, std::int64_t rows, std::string_view why) {
                         tell_(notice::prune_kept{what, rows, why});
                       },
                   .rotated =
                       [this](std::string_view what, std::int64_t number) {
                         tell_(notice::rotated{what, number});
                       },
                   .load = [this] { return load(); }});
  spawn(keep(pruner_));
}

void relay::end_pruning() {
  if (pruner_) std::exchange(pruner_, nullptr)->stop();
}

void relay::on_pruned(prunable what, std::int64_t rows) {
  counts_.pruned[static_cast<std::size_t>(what)] += static_cast<std::uint64_t>(rows);
  tell_(notice::pruned{what, rows});
}

void relay::on_prune_ended(const prune_run& run) {
  if (run.complete)
    counts_.last_pruned[static_cast<std::size_t>(run.what)] = std::chrono::system_clock::now();
  tell_(notice::prune_ended{run});
}

// There is a backlog if memory holds more events than one read returns.
flow::prune_pace::load relay::load() const {
  std::size_t unsettled = 0;
  for (const auto& one : leaders_)
    if (one->leads()) unsettled += one->events().events().size();
  return unsettled >= static_cast<std::size_t>(settings_.leader.stream.read.batch)
             ? flow::prune_pace::load::backlog
             : flow::prune_pace::load::light;
}

}  // namespace outboxd::relay
