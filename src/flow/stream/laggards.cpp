#include "flow/stream/laggards.hpp"

#include <algorithm>

namespace outboxd::flow {
namespace {

constexpr std::size_t most_laggards = 16;

constexpr auto which_of_laggard = [](const auto& one) { return one.at.which; };

}  // namespace

const laggards::laggard* laggards::find(aggregate which) const {
  const auto found = std::ranges::find(all_, which, which_of_laggard);
  return found == all_.end() ? nullptr : &*found;
}

bool laggards::leave_behind(aggregate which, std::int64_t seq) {
  if (all_.size() >= most_laggards) return false;
  all_.push_back({.at = {.which = which, .after = seq - 1}});
  return true;
}

bool laggards::passes_over(aggregate which, std::int64_t seq) const {
  if (all_.empty()) return false;
  const auto* const one = find(which);
  return one != nullptr && seq > one->at.after;
}

std::optional<lag> laggards::state_of(aggregate which) const {
  const auto* const one = find(which);
  return one == nullptr ? std::nullopt : std::optional(one->state);
}

void laggards::on_overtaking() {
  for (laggard& one : all_)
    if (++one.overtaking > most_overtaking_) one.state = lag::overtaken;
}

std::vector<aggregate> laggards::names() const {
  std::vector<aggregate> out;
  for (const laggard& one : all_) out.push_back(one.at.which);
  return out;
}

void laggards::on_read(aggregate which, std::optional<std::int64_t> to, std::int64_t passed) {
  const auto found = std::ranges::find(all_, which, which_of_laggard);
  if (found == all_.end()) return;
  if (!to || *to >= passed)
    all_.erase(found);
  else
    found->at.after = std::max(found->at.after, *to);
}

void laggards::on_passed(std::int64_t passed) {
  std::erase_if(all_, [passed](const laggard& one) { return one.at.after >= passed; });
}

std::optional<std::int64_t> laggards::lowest() const {
  if (all_.empty()) return std::nullopt;
  return std::ranges::min(all_, {}, [](const laggard& one) { return one.at.after; }).at.after + 1;
}

}  // namespace outboxd::flow
