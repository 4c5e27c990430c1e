// wanted: an order as the page sends it. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "app/operate/order.hpp"

namespace outboxd::console {

// An object with `what` and the flags of the command line, with _ for -: {"what": "retry", "code":
// ["returned"]}. The error names what is wrong.
result<app::order> read_wanted(const nlohmann::json& given);

}  // namespace outboxd::console
