#include "console/action_book.hpp"

#include <algorithm>

namespace outboxd::console {

std::shared_ptr<action> action_book::add(action_plan plan, clock::time_point now) {
  auto token = random_secret();
  const auto key = sha256(token);
  auto out = std::make_shared<action>(std::move(token), std::move(plan), now);
  all_.emplace(key, out);
  make_room(now);
  return out;
}

std::shared_ptr<action> action_book::find(std::string_view token, clock::time_point now) {
  const auto found = all_.find(sha256(token));
  if (found == all_.end() || is_over(*found->second, now)) return nullptr;
  return found->second;
}

std::vector<std::shared_ptr<action>> action_book::running() const {
  std::vector<std::shared_ptr<action>> out;
  for (const auto& [key, one] : all_)
    if (one->is_running()) out.push_back(one);
  return out;
}

bool action_book::is_over(const action& one, clock::time_point now) const {
  if (one.is_running()) return false;
  const bool begun = one.state() != action_state::previewed;
  return now - one.since() >= (begun ? within_.result : within_.preview);
}

// The newest action is always kept, however large it is.
void action_book::make_room(clock::time_point now) {
  std::erase_if(all_, [&](const auto& one) { return is_over(*one.second, now); });
  std::vector<std::pair<digest, std::shared_ptr<action>>> by_age(all_.begin(), all_.end());
  std::sort(by_age.begin(), by_age.end(),
            [](const auto& one, const auto& other) { return one.second->since() > other.second->since(); });
  std::size_t previews = 0;
  std::size_t results = 0;
  std::size_t events = 0;
  for (const auto& [key, one] : by_age) {
    if (one->is_running()) continue;
    auto& many = one->state() == action_state::previewed ? previews : results;
    const auto most = one->state() == action_state::previewed ? within_.previews : within_.results;
    ++many;
    events += one->plan().events.size();
    const bool newest = previews + results == 1;
    if (!newest && (many > most || events > within_.events)) all_.erase(key);
  }
}

}  // namespace outboxd::console
