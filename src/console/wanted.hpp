// wanted: parses an order from the page's JSON. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "app/operate/order.hpp"

namespace outboxd::console {

// An object with `what` and the flags of the command line, with _ instead of -: {"what": "retry", "code":
// ["returned"]}. The error names the invalid part.
result<app::order> read_wanted(const nlohmann::json& given);

}  // namespace outboxd::console
