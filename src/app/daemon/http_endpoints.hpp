// http_endpoints: the paths of the HTTP server and their responses.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "http/message.hpp"

namespace outboxd::app {

// Functions that are called on the reactor for each request.
struct endpoints {
  std::function<std::optional<std::string>()>
      unhealthy;                              // why the process should be restarted; nullopt: the process is
                                              // healthy
  std::function<nlohmann::json()> readiness;  // {"ready": bool, "reasons": [{"code", "message", "since"}]}
  std::function<std::string()> metrics;       // Prometheus' text format
  std::function<nlohmann::json()> status;
};

// Handles /healthz, /readyz, /metrics, /status, and / with a list of them.
http::handler handler_of(endpoints from);

}  // namespace outboxd::app
