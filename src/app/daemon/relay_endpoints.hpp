// relay_endpoints: what a running relay answers over HTTP.
#pragma once

#include "app/daemon/http_endpoints.hpp"
#include "app/daemon/relay_host.hpp"
#include "relay/figures.hpp"

namespace outboxd::app {

// `of` has to outlive it.
endpoints endpoints_of(const relay_host& of);

// {"ready": true, "reasons": []}, or the reasons why not: a code from the list in docs/runbook.md, and words.
nlohmann::json readiness_of(const relay::relay_figures& from);

// Names as the metrics have them.
nlohmann::json status_of(const relay::relay_figures& from);

// The same for several outboxes. Each reason, warning and pause has the name of its outbox, and "outboxes"
// tells for each whether it is ready. The process is ready if all `required` outboxes are; if none is
// required, if any outbox is.
nlohmann::json readiness_of(const std::vector<outbox_view>& from, const std::vector<std::string>& required);
nlohmann::json status_of(const std::vector<outbox_view>& from, const std::vector<std::string>& required);

}  // namespace outboxd::app
