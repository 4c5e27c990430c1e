#include "app/operate/words.hpp"
#include "core/text.hpp"

#include <fmt/format.h>

namespace outboxd::app {
namespace {

void add(std::string& to, std::string_view flag, const std::optional<std::string>& value) {
  if (value) to += fmt::format("{}{} {}", to.empty() ? "" : " ", flag, shell_word(*value));
}

}  // namespace

change_words words_of(change what) {
  switch (what) {
    case change::retry:
      return {"dead retry", "retry", "dead_retry", "requeued", event_set::dead};
    case change::discard:
      return {"dead discard", "discard", "dead_discard", "deleted", event_set::dead};
    case change::replay:
      return {"replay", "replay", "replay", "requeued", event_set::published};
    case change::cancel:
      return {"events cancel", "cancel", "events_cancel", "cancelled", event_set::unsent};
    case change::postpone:
      return {"events postpone", "postpone", "events_postpone", "postponed", event_set::unsent};
    case change::edit:
      return {"events edit", "edit", "events_edit", "edited", event_set::unsent};
    case change::edit_dead:
      return {"events edit", "edit", "events_edit", "edited and requeued", event_set::dead};
  }
  return {};
}

std::string events(std::int64_t count) {
  return fmt::format("{} {}", count, count == 1 ? "event" : "events");
}

// No content of a file is shown; what the console was given is called as if it came from one.
std::string words_of_order(const change_order& given) {
  std::string out = words_of(given.which);
  if (given.rate) out += fmt::format(" --rate {}", *given.rate);
  add(out, "--to-exchange", given.exchange);
  add(out, "--to-routing-key", given.routing_key);
  add(out, "--to", given.to);
  add(out, "--set-payload", given.edit.payload ? "payload" : given.edit.payload_file);
  add(out, "--set-headers", given.edit.headers ? "headers.json" : given.edit.headers_file);
  add(out, "--set-event-type", given.edit.event_type);
  add(out, "--set-exchange", given.edit.exchange);
  add(out, "--set-routing-key", given.edit.routing_key);
  if (given.edit.by_route) out += " --by-route";
  if (given.edit.retry) out += " --retry";
  return out;
}

std::string words_of_order(const pause_order& given) {
  std::string out = given.all ? "--all" : "";
  for (const auto& one : given.event_types) add(out, "--event-type", one);
  for (const auto& one : given.aggregate_types) add(out, "--aggregate-type", one);
  for (const auto& one : given.exchanges) add(out, "--exchange", one);
  for (const auto& one : given.routing_keys) add(out, "--routing-key", one);
  add(out, "--until", given.until);
  return out;
}

std::string command_line_of(change what, const change_order& given) {
  auto out = fmt::format("outboxd {} {}", words_of(what).command, words_of_order(given));
  add(out, "--reason", given.reason);
  const bool may_ask = given.which.all || (what != change::retry && what != change::discard);
  return may_ask && given.which.ids.empty() ? out + " --yes" : out;
}

std::string command_line_of(std::string_view command, const pause_order& given) {
  auto out = fmt::format("outboxd {} {}", command, words_of_order(given));
  add(out, "--reason", given.reason);
  return out;
}

}  // namespace outboxd::app
