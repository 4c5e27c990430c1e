// asked_relay: a running relay that answers over HTTP, on a port of its own.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "stage.hpp"
#include "support/http_client.hpp"
#include "support/metrics_text.hpp"

namespace outboxd::test {

class asked_relay : public relay {
 public:
  explicit asked_relay(const stage& on, arguments flags = {}, const environment& variables = {})
      : relay{on, with_listener(std::move(flags)), variables},
        port_{port_in(wait_line(std::string(said_at), time_limit))} {}

  std::uint16_t port() const { return port_; }
  std::string address() const { return fmt::format("127.0.0.1:{}", port_); }
  http_answer get(std::string_view path) const { return http_client{port_}.get(path); }

 private:
  static constexpr std::string_view said_at = "listening on http://127.0.0.1:";

  static arguments with_listener(arguments flags) {
    flags.insert(flags.end(), {"--http-listen", "127.0.0.1:0"});
    return flags;
  }
  static std::uint16_t port_in(const std::string& line) {
    return static_cast<std::uint16_t>(std::stoi(line.substr(line.find(said_at) + said_at.size())));
  }

  std::uint16_t port_;
};

inline double metric(const asked_relay& of, const std::string& series) {
  return value_of(of.get("/metrics").body, series);
}

// Far more than a leader without a broker takes to make way.
inline void await_sweeps(const asked_relay& of) {
  const auto before = metric(of, "outboxd_sweeps_total");
  eventually(
      "it sweeps several times", [&] { return metric(of, "outboxd_sweeps_total") >= before + 6; },
      time_limit);
}

// The codes of /readyz.
inline std::vector<std::string> reasons(const asked_relay& of) {
  std::vector<std::string> out;
  const auto answer = nlohmann::json::parse(of.get("/readyz").body);
  for (const auto& one : answer.at("reasons")) out.push_back(one.at("code"));
  return out;
}

inline void await_ready(const asked_relay& of) {
  eventually(
      "the relay is ready", [&] { return of.get("/readyz").status == 200; }, time_limit);
}

inline void await_reason(const asked_relay& of, const std::string& code) {
  eventually(
      "the relay is not ready because of " + code,
      [&] {
        const auto all = reasons(of);
        return of.get("/readyz").status == 503 && std::find(all.begin(), all.end(), code) != all.end();
      },
      time_limit);
  CHECK(of.get("/healthz").status == 200);
}

}  // namespace outboxd::test
