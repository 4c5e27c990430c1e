// relay_endpoints: the HTTP responses of a running relay.
#pragma once

#include "app/daemon/http_endpoints.hpp"
#include "app/daemon/relay_host.hpp"
#include "relay/figures.hpp"

namespace outboxd::app {

// `of` must outlive the endpoints.
endpoints endpoints_of(const relay_host& of);

// Returns {"ready": true, "reasons": []}, or the reasons, each with a code from docs/runbook.md and a
// message.
nlohmann::json readiness_of(const relay::relay_figures& from);

// Uses the names of the metrics.
nlohmann::json status_of(const relay::relay_figures& from);

// Returns the readiness of several outboxes. Each reason, warning and pause contains the name of its outbox,
// and "outboxes" shows whether each is ready. The process is ready if all `required` outboxes are ready or,
// if none is required, if at least one outbox is ready.
nlohmann::json readiness_of(const std::vector<outbox_view>& from, const std::vector<std::string>& required);
nlohmann::json status_of(const std::vector<outbox_view>& from, const std::vector<std::string>& required);

}  // namespace outboxd::app
