// settings_check: what must hold of settings, wherever their text came from.
#pragma once

#include <algorithm>
#include <chrono>
#include <string>

#include "app/config/setting_keys.hpp"
#include "app/config/settings.hpp"
#include "input.hpp"

namespace outboxd::fuzz {

inline bool names_a_key(const std::string& words) {
  if (words.find("route[") != std::string::npos) return true;
  return std::any_of(app::setting_keys.begin(), app::setting_keys.end(),
                     [&](const app::setting_key& one) { return words.find(one.key()) != std::string::npos; });
}

// No file of the machine is read: every secret's file is one that does not exist.
inline void check_settings(app::raw_settings raw) {
  using namespace std::chrono_literals;
  for (auto& [key, value] : raw)
    if (key.ends_with("_file")) value.text = "/nonexistent/secret";
  const auto read = app::read_settings(raw);
  if (!read) {
    must(read.error().kind == fault::permanent, "a bad setting does not get better");
    must(names_a_key(read.error().message), "an error names the key");
    return;
  }
  const auto& relay = read->relay;
  must(relay.lanes >= 1 && relay.lanes <= 64, "lanes in range");
  const auto& leader = relay.leader;
  must(leader.stream.read.batch >= 1 && leader.stream.batch_bytes >= 1, "a read is not empty");
  must(leader.sweep_interval >= 10ms && leader.sweep_interval <= 1h, "the sweep is in range");
  must(leader.database.claim_timeout > leader.sweep_interval, "a leader that only sweeps keeps the lead");
  must(leader.standby_interval >= 10ms && leader.standby_interval <= leader.database.claim_timeout / 4,
       "a standby passes for none that hangs");
  must(relay.lane.confirm_timeout > 0ms, "confirms are awaited");
  must(relay.broker.heartbeat >= 1s, "there is a heartbeat");
  must(!relay.broker.urls.empty(), "there is a broker");
}

}  // namespace outboxd::fuzz
