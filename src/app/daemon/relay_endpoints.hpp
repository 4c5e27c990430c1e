// relay_endpoints: what a running relay answers over HTTP.
#pragma once

#include "app/daemon/http_endpoints.hpp"
#include "relay/relay.hpp"

namespace outboxd::app {

// `of` has to outlive it.
endpoints endpoints_of(const relay::relay& of);

// {"ready": true, "reasons": []}, or the reasons why not: a code from the list in docs/runbook.md, and words.
nlohmann::json readiness_of(const relay::relay_figures& from);

// Names as the metrics have them.
nlohmann::json status_of(const relay::relay_figures& from);

}  // namespace outboxd::app
