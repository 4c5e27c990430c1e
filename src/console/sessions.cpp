#include "console/sessions.hpp"

#include <algorithm>

namespace outboxd::console {

std::string sessions::begin(level may, std::string_view token, clock::time_point now) {
  std::erase_if(all_, [&](const auto& one) { return is_over(one.second, now); });
  if (all_.size() >= within_.most)
    all_.erase(std::min_element(all_.begin(), all_.end(), [](const auto& one, const auto& other) {
      return one.second.used < other.second.used;
    }));
  auto id = random_secret();
  all_.emplace(sha256(id), session{may, sha256(token), now, now});
  return id;
}

std::optional<sessions::session> sessions::find(std::string_view id, clock::time_point now) {
  const auto found = all_.find(sha256(id));
  if (found == all_.end()) return std::nullopt;
  if (is_over(found->second, now)) {
    all_.erase(found);
    return std::nullopt;
  }
  found->second.used = now;
  return found->second;
}

}  // namespace outboxd::console
