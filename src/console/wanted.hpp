// wanted: what somebody wants done with events or parts of the outbox, as the page sends it. Pure.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "app/operate/order.hpp"

namespace outboxd::console {

enum class deed : std::uint8_t { retry, discard, replay, cancel, postpone, edit, pause, resume };
std::string_view name_of(deed what);

struct wanted {
  deed what = deed::retry;
  app::change_order change{};
  app::pause_order pause{};
};
// Nothing: a pause or a resume, which changes no event.
std::optional<app::change> change_of(const wanted& what);

// An object with `what` and the flags of the command line, with _ for -: {"what": "retry", "code":
// ["returned"]}. The error names what is wrong.
result<wanted> read_wanted(const nlohmann::json& given);

// The same on the command line.
std::string command_line_of(const wanted& what, const std::optional<std::string>& reason);

}  // namespace outboxd::console
