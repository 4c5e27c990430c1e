// headline: the first sentence of the page: the state and its cause. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace outboxd::console {

struct headline {
  std::string code;   // a stable word
  std::string level;  // ok, warn, bad
  std::string text;
  std::string todo{};   // what to do next; empty: nothing
  std::string since{};  // a time in PostgreSQL's or the relay's format; empty: unknown
};

// `now`: {"database": {"up", "error", "since"}, "status": …, "relays": [{"url", "status", "error"}],
// "published_per_second": …}. `status` is the output of `outboxd status --json`, where parts may be missing;
// a relay's `status` is its /status, or null.
headline headline_of(const nlohmann::json& now);

// 18,230
std::string grouped(std::int64_t number);

}  // namespace outboxd::console
