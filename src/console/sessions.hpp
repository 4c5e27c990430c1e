// sessions: the logged-in users. Sessions are kept in memory, so a restart ends them.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "console/digest.hpp"
#include "console/principal.hpp"

namespace outboxd::console {

struct session_limits {
  std::chrono::seconds idle{std::chrono::hours(1)};    // after the latest request
  std::chrono::seconds lasts{std::chrono::hours(12)};  // after the login
  std::size_t most = 1'000;                            // above this number, the session idle for longest ends
};

class sessions {
 public:
  using clock = std::chrono::steady_clock;

  explicit sessions(session_limits within = {}) : within_(within) {}

  struct session {
    level may;
    digest token;  // digest of the token used to log in: the session ends when the token is changed
    clock::time_point begun;
    clock::time_point used;
  };

  // The id of a new session. It is always newly generated, so that nobody can know it before the login.
  std::string begin(level may, std::string_view token, clock::time_point now);

  // nullopt: no session has this id, or it has expired.
  std::optional<session> find(std::string_view id, clock::time_point now);

  void end(std::string_view id) { all_.erase(sha256(id)); }

  std::size_t size() const { return all_.size(); }

 private:
  bool is_over(const session& one, clock::time_point now) const {
    return now - one.used >= within_.idle || now - one.begun >= within_.lasts;
  }

  session_limits within_;
  // Keyed by the digest of the id, so that the duration of a search reveals nothing about ids.
  std::map<digest, session> all_;
};

}  // namespace outboxd::console
