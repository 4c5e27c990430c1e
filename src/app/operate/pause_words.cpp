#include "app/operate/pause_words.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "app/operate/event_listing.hpp"
#include "core/text.hpp"

namespace outboxd::app {
namespace {

// A glob may be empty, as the name of the default exchange is.
std::string name_of(const flow::pause& one) {
  return one.name.empty() ? "''" : escaped(one.name);
}

std::string part_of(const flow::pause& one) {
  switch (one.part) {
    case flow::paused_part::everything:
      return "everything";
    case flow::paused_part::event_type:
      return "event type " + escaped(one.name);
    case flow::paused_part::aggregate_type:
      return "aggregate type " + escaped(one.name);
    case flow::paused_part::exchange:
      return "exchange " + name_of(one);
    case flow::paused_part::routing_key:
      return "routing key " + name_of(one);
  }
  return {};
}

}  // namespace

flow::pause pause_from(const nlohmann::json& told) {
  const auto text = [&](const char* key) {
    return told.at(key).is_null() ? std::string() : told.at(key).get<std::string>();
  };
  return {flow::part_named(text("part")), text("name"), text("reason"), text("until")};
}

std::string words_of(const flow::pause& one) {
  return part_of(one) + (one.reason.empty() ? "" : fmt::format(" ({})", escaped(one.reason))) +
         (one.until.empty() ? "" : ", until " + one.until);
}

}  // namespace outboxd::app
