#include "app/commands/flags.hpp"

#include <fmt/format.h>

#include <vector>

#include "app/command/command_set.hpp"

namespace outboxd::app {

namespace {

void add_selector(CLI::App& to, const char* name, std::vector<std::string>& values, const std::string& help) {
  to.add_option(name, values, help)->allow_extra_args(false)->type_name("")->group("Selectors");
}

}  // namespace

void add_selectors(CLI::App& to, selectors& which, event_set of) {
  const auto time = of == event_set::published ? "published" : "created";
  const auto add_list = [&](const char* name, std::vector<std::string>& values, const std::string& help) {
    add_selector(to, name, values, help);
  };
  const auto add_time = [&](const char* name, std::optional<std::string>& value, const std::string& help) {
    add_text(to, name, value, help)->take_last()->type_name("")->group("Selectors");
  };
  add_list("--id", which.ids, "the event with this id; this and the next five can be repeated");
  add_list("--event-type", which.event_types, "events of exactly this type");
  add_list("--aggregate", which.aggregates, "events of this aggregate, as TYPE/ID: order/42");
  add_list("--exchange", which.exchanges, "whose exchange this glob matches: 'orders*'");
  add_list("--routing-key", which.routing_keys, "whose routing key this glob matches: 'order.*'");
  add_list("--error-code,--code", which.codes,
           of == event_set::dead ? "dead for this reason, as shown by `events list --by reason`"
                                 : "with this last_error_code, such as returned; none: without a code");
  add_time("--since", which.since,
           fmt::format("{} at or after this time ('2026-01-31 14:00' UTC), or this long ago (2h)", time));
  add_time("--until", which.until, fmt::format("{} before this time, in the same forms", time));
  to.add_flag("--all", which.all, "all of them")->group("Selectors");
}

void add_status(CLI::App& to, selectors& which) {
  add_selector(to, "--status", which.statuses, "pending, waiting, published or dead; may be given again");
}

void add_json(CLI::App& to, bool& as_json) {
  to.add_flag("--json", as_json, "print JSON");
}

void add_reason(CLI::App& to, std::optional<std::string>& reason) {
  add_text(to, "--reason", reason, "the reason, for outbox.audit: 'ticket 4711'")
      ->take_last()
      ->type_name("TEXT");
}

}  // namespace outboxd::app
