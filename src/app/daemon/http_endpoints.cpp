#include "app/daemon/http_endpoints.hpp"

#include <fmt/format.h>

#include <memory>
#include <utility>

namespace outboxd::app {
namespace {

constexpr std::string_view paths =
    "/healthz   200 while the process is alive and makes progress, else 503 with the reason\n/readyz    200 "
    "while events can be published, else 503 with every reason\n/metrics   for Prometheus\n/status    the "
    "state of this relay, as JSON\n";

constexpr std::string_view metrics_format = "text/plain; version=0.0.4; charset=utf-8";

http::response text_page(int status, std::string body) {
  return {status, std::string(http::plain_text), std::move(body)};
}

// Error messages of servers may be in any encoding: invalid UTF-8 is replaced instead of throwing.
http::response json_page(int status, const nlohmann::json& body) {
  return {status, "application/json",
          body.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n"};
}

http::response answer(const endpoints& from, std::string_view path) {
  if (path == "/healthz") {
    const auto why = from.unhealthy();
    return why ? text_page(503, *why + "\n") : text_page(200, "ok\n");
  }
  if (path == "/readyz") {
    const auto readiness = from.readiness();
    return json_page(readiness.value("ready", false) ? 200 : 503, readiness);
  }
  if (path == "/metrics") return {200, std::string(metrics_format), from.metrics()};
  if (path == "/status") return json_page(200, from.status());
  if (path == "/") return text_page(200, fmt::format("outboxd {}\n\n{}", OUTBOXD_VERSION, paths));
  return text_page(404, fmt::format("there is no such page; there are:\n\n{}", paths));
}

}  // namespace

http::handler handler_of(endpoints from) {
  const auto kept = std::make_shared<const endpoints>(std::move(from));
  return [kept](const http::request& asked) {
    return answer(*kept, asked.target.substr(0, asked.target.find('?')));
  };
}

}  // namespace outboxd::app
