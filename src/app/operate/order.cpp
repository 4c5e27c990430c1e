#include "app/operate/order.hpp"

#include <fmt/format.h>

#include "core/text.hpp"

namespace outboxd::app {
namespace {

// Names are short strings of AMQP 0-9-1, of at most 255 bytes.
result<void> check_names(const order& given) {
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

result<void> check_statuses(const order& given, std::string_view command) {
  for (const std::string& one : given.which.statuses)
    if (!has(given.from(), one))
      return permanent(fmt::format("{} is not possible with events that are {}; use {}", command, one,
                                   possible_with(one)));
  return {};
}

result<void> check_paused(const selectors& given, std::string_view command) {
  if (!given.all && !given.narrowed())
    return permanent(
        fmt::format("{} needs a selector: give --event-type, --aggregate-type, --exchange or "
                    "--routing-key, or --all for everything",
                    command));
  if (given.all && given.narrowed())
    return permanent("--all selects everything and excludes other selectors; give one or the other");
  const auto check = [](std::string_view flag, const std::vector<std::string>& names, std::size_t fewest,
                        std::string_view what) -> result<void> {
    constexpr std::size_t longest = 1000;
    for (const std::string& one : names)
      if (one.size() < fewest || one.size() > longest)
        return permanent(fmt::format("{} has {} bytes; give a {} {}", flag, one.size(), what, longest));
    return {};
  };
  OUTBOXD_TRY_VOID(check("--event-type", given.event_types, 1, "type of 1 to"));
  OUTBOXD_TRY_VOID(check("--aggregate-type", given.aggregate_types, 1, "type of 1 to"));
  OUTBOXD_TRY_VOID(check("--exchange", given.exchanges, 0, "glob of up to"));
  return check("--routing-key", given.routing_keys, 0, "glob of up to");
}

void add(std::string& to, std::string_view flag, const std::optional<std::string>& value) {
  if (value) to += fmt::format("{}{} {}", to.empty() ? "" : " ", flag, shell_word(*value));
}

}  // namespace

event_set order::from() const {
  switch (what) {
    case deed::retry:
    case deed::discard:
      return event_set::dead;
    case deed::replay:
      return event_set::published;
    case deed::edit:
      return edit.retry ? event_set::dead : event_set::unsent;
    case deed::cancel:
    case deed::postpone:
    case deed::pause:
    case deed::resume:
      break;
  }
  return event_set::unsent;
}

result<void> check_reason(const std::optional<std::string>& given) {
  constexpr std::size_t longest = 1'000;  // bytes
  if (!given) return {};
  if (given->find_first_not_of(" \t\n") == std::string::npos)
    return permanent("--reason is empty; give a reason, for example --reason 'ticket 4711', or leave it out");
  if (given->size() > longest)
    return permanent(fmt::format("--reason has {} bytes; up to {} are allowed", given->size(), longest));
  return {};
}

result<void> check_order(const order& given) {
  return check_order(given, words_of(given.what).command);
}

result<void> check_order(const order& given, std::string_view command) {
  if (given.changes_events()) {
    OUTBOXD_TRY_VOID(require_selectors(given.which, command));
    OUTBOXD_TRY_VOID(check_selectors(given.which));
    OUTBOXD_TRY_VOID(check_statuses(given, command));
    OUTBOXD_TRY_VOID(check_names(given));
  } else {
    OUTBOXD_TRY_VOID(check_paused(given.which, command));
  }
  return check_reason(given.reason);
}

std::string_view possible_with(std::string_view status) {
  if (status == "dead") return "`outboxd events retry`, `discard` or `edit --retry`";
  if (status == "published") return "`outboxd events replay`";
  return "`outboxd events cancel`, `postpone` or `edit`";
}

order_words words_of(deed what) {
  switch (what) {
    case deed::retry:
      return {"retry", "events retry", "dead_retry", "requeued"};
    case deed::discard:
      return {"discard", "events discard", "dead_discard", "deleted"};
    case deed::replay:
      return {"replay", "events replay", "replay", "requeued"};
    case deed::cancel:
      return {"cancel", "events cancel", "events_cancel", "cancelled"};
    case deed::postpone:
      return {"postpone", "events postpone", "events_postpone", "postponed"};
    case deed::edit:
      return {"edit", "events edit", "events_edit", "edited and requeued"};
    case deed::pause:
      return {"pause", "pause", "pause", "paused"};
    case deed::resume:
      return {"resume", "resume", "resume", "resumed"};
  }
  return {};
}

std::string events(std::int64_t count) {
  return fmt::format("{} {}", count, count == 1 ? "event" : "events");
}

// Leaves out the content of files. A payload from the console is shown as if it came from a file.
std::string words_of(const order& given) {
  std::string out = words_of(given.which);
  if (given.rate) out += fmt::format(" --rate {}", *given.rate);
  add(out, "--to-exchange", given.exchange);
  add(out, "--to-routing-key", given.routing_key);
  add(out, given.what == deed::pause ? "--until" : "--to", given.until);
  add(out, "--set-payload", given.edit.payload ? "payload" : given.edit.payload_file);
  add(out, "--set-headers", given.edit.headers ? "headers.json" : given.edit.headers_file);
  add(out, "--set-event-type", given.edit.event_type);
  add(out, "--set-exchange", given.edit.exchange);
  add(out, "--set-routing-key", given.edit.routing_key);
  if (given.edit.by_route) out += " --by-route";
  if (given.edit.retry) out += " --retry";
  return out;
}

std::string command_line_of(const order& given) {
  auto out = fmt::format("outboxd {} {}", words_of(given.what).command, words_of(given));
  add(out, "--reason", given.reason);
  return given.needs_yes() && given.which.ids.empty() ? out + " --yes" : out;
}

}  // namespace outboxd::app
