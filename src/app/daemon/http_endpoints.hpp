// http_endpoints: what each path of the HTTP server answers.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "http/message.hpp"

namespace outboxd::app {

// Asked on the reactor, for each request.
struct endpoints {
  std::function<std::optional<std::string>()>
      unhealthy;                              // why the process should be restarted; nullopt: it is healthy
  std::function<nlohmann::json()> readiness;  // {"ready": bool, "reasons": [{"code", "message", "since"}]}
  std::function<std::string()> metrics;       // Prometheus' text format
  std::function<nlohmann::json()> status;
};

// /healthz, /readyz, /metrics, /status, and a list of them at /.
http::handler handler_of(endpoints from);

}  // namespace outboxd::app
