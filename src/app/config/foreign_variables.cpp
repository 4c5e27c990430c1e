#include "app/config/foreign_variables.hpp"

#include <algorithm>
#include <array>

namespace outboxd::app {
namespace {

// Returns whether the tests, benchmarks, development servers or scripts of a checkout read this variable.
bool is_of_the_checkout(std::string_view name) {
#ifdef OUTBOXD_FAILPOINTS
  // core/failpoint.hpp reads them
  if (name == "OUTBOXD_FAILPOINT" || name == "OUTBOXD_FAILPOINT_HASTE") return true;
#endif
  constexpr std::array<std::string_view, 6> prefixes{"OUTBOXD_TEST_",       "OUTBOXD_SERVICES_",
                                                     "OUTBOXD_SIMULATION_", "OUTBOXD_BENCH_",
                                                     "OUTBOXD_CACHE_DIR",   "OUTBOXD_DEBIAN_MIRROR"};
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](std::string_view prefix) { return name.starts_with(prefix); });
}

// Kubernetes sets these variables in every pod that can see a Service named outboxd or outboxd-* (Kubernetes
// manual, "Accessing the Service", environment variables): OUTBOXD_SERVICE_HOST, OUTBOXD_SERVICE_PORT[_NAME],
// OUTBOXD_PORT=tcp://…, OUTBOXD_PORT_9464_TCP[_ADDR].
bool is_of_kubernetes(std::string_view name, std::string_view value) {
  constexpr std::string_view port = "_PORT_";
  if (name.ends_with("_SERVICE_HOST") || name.ends_with("_SERVICE_PORT")) return true;
  if (name.find("_SERVICE_PORT_") != std::string_view::npos) return true;
  if (name.ends_with("_PORT")) return value.find("://") != std::string_view::npos;
  const auto at = name.find(port);
  if (at == std::string_view::npos) return false;
  const auto number = name.substr(at + port.size());
  return !number.empty() && number.front() >= '0' && number.front() <= '9';
}

}  // namespace

bool is_foreign_variable(std::string_view name, std::string_view value) {
  return is_of_the_checkout(name) || is_of_kubernetes(name, value);
}

}  // namespace outboxd::app
