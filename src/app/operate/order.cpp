#include "app/operate/order.hpp"

#include <fmt/format.h>

#include "app/operate/operator_session.hpp"
#include "app/operate/words.hpp"

namespace outboxd::app {
namespace {

// They are short strings of AMQP 0-9-1, which are up to 255 bytes long.
result<void> check_names(const change_order& given) {
  constexpr std::size_t longest = 255;
  for (const auto& [flag, value] :
       {std::pair{"--to-exchange", &given.exchange}, std::pair{"--to-routing-key", &given.routing_key},
        std::pair{"--set-event-type", &given.edit.event_type},
        std::pair{"--set-exchange", &given.edit.exchange},
        std::pair{"--set-routing-key", &given.edit.routing_key}})
    if (*value && (*value)->size() > longest)
      return permanent(
          fmt::format("{} has {} bytes; AMQP has names of up to {}", flag, (*value)->size(), longest));
  return {};
}

}  // namespace

result<void> check_order(change what, const change_order& given) {
  if (auto named = require_selectors(given.which, words_of(what).command); !named) return named;
  if (auto good = check_selectors(given.which); !good) return good;
  if (auto good = check_names(given); !good) return good;
  return check_reason(given.reason);
}

result<void> check_order(std::string_view command, const pause_order& given) {
  if (!given.all && !given.narrowed())
    return permanent(
        fmt::format("{} needs to know what: give --event-type, --aggregate-type, --exchange or "
                    "--routing-key, or --all for everything",
                    command));
  if (given.all && given.narrowed())
    return permanent("--all means everything and goes with no other selector; give one or the other");
  constexpr std::size_t longest = 1000;
  for (const auto& [flag, types] :
       {std::pair{"--event-type", &given.event_types}, std::pair{"--aggregate-type", &given.aggregate_types}})
    for (const std::string& one : *types)
      if (one.empty() || one.size() > longest)
        return permanent(fmt::format("{} has {} bytes; give a type of 1 to {}", flag, one.size(), longest));
  for (const auto& [flag, globs] :
       {std::pair{"--exchange", &given.exchanges}, std::pair{"--routing-key", &given.routing_keys}})
    for (const std::string& one : *globs)
      if (one.size() > longest)
        return permanent(fmt::format("{} has {} bytes; give a glob of up to {}", flag, one.size(), longest));
  return check_reason(given.reason);
}

}  // namespace outboxd::app
