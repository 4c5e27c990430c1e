#include "console/wanted.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <vector>

#include "app/operate/words.hpp"

namespace outboxd::console {
namespace {

using nlohmann::json;

constexpr std::array deeds{deed::retry,    deed::discard, deed::replay, deed::cancel,
                           deed::postpone, deed::edit,    deed::pause,  deed::resume};
constexpr std::size_t most_values = 1'000;  // of one selector

std::string_view command_of(deed what) {
  return what == deed::pause ? "pause" : "resume";
}

// PostgreSQL has no text with a NUL, and libpq would cut it there.
bool is_text(const json& value) {
  return value.is_string() && value.get_ref<const std::string&>().find('\0') == std::string::npos;
}

// Takes the members of an object, and knows which nobody has taken.
class members {
 public:
  explicit members(const json& of) : of_(of) {}

  void take(const char* name, std::vector<std::string>& to) {
    const auto* value = find(name);
    if (value == nullptr) return;
    const bool fits = value->is_array() && value->size() <= most_values &&
                      std::all_of(value->begin(), value->end(), is_text);
    if (!fits) return refuse(fmt::format("{} is a list of up to {} texts", name, most_values));
    to = value->get<std::vector<std::string>>();
  }
  void take(const char* name, std::optional<std::string>& to) {
    const auto* value = find(name);
    if (value == nullptr) return;
    if (!is_text(*value)) return refuse(fmt::format("{} is a text", name));
    to = value->get<std::string>();
  }
  void take(const char* name, bool& to) {
    const auto* value = find(name);
    if (value == nullptr) return;
    if (!value->is_boolean()) return refuse(fmt::format("{} is true or false", name));
    to = value->get<bool>();
  }
  void take_rate(std::optional<std::int64_t>& to) {
    const auto* value = find("rate");
    if (value == nullptr) return;
    if (!value->is_number_integer() || *value < 1 || *value > app::highest_rate)
      return refuse(fmt::format("rate is 1 to {} events a second", app::highest_rate));
    to = value->get<std::int64_t>();
  }

  // Nothing: all of it was well, and nothing is left.
  std::optional<std::string> wrong() const {
    if (wrong_) return wrong_;
    for (const auto& [name, value] : of_.items())
      if (std::find(taken_.begin(), taken_.end(), name) == taken_.end())
        return fmt::format("{} is not known here", name.substr(0, 100));
    return std::nullopt;
  }

 private:
  const json* find(const char* name) {
    taken_.emplace_back(name);
    const auto at = of_.find(name);
    return at == of_.end() ? nullptr : &*at;
  }
  void refuse(std::string why) {
    if (!wrong_) wrong_ = std::move(why);
  }

  const json& of_;
  std::vector<std::string> taken_{"what"};
  std::optional<std::string> wrong_;
};

void take_selectors(members& from, app::selectors& to) {
  from.take("id", to.ids);
  from.take("event_type", to.event_types);
  from.take("aggregate", to.aggregates);
  from.take("code", to.codes);
  from.take("since", to.since);
  from.take("until", to.until);
  from.take("all", to.all);
}

void take_edit(members& from, app::event_edit& to) {
  from.take("set_payload", to.payload);
  from.take("set_headers", to.headers);
  from.take("set_event_type", to.event_type);
  from.take("set_exchange", to.exchange);
  from.take("set_routing_key", to.routing_key);
  from.take("by_route", to.by_route);
  from.take("retry", to.retry);
}

std::optional<deed> deed_of(const json& given) {
  const auto what = given.is_object() ? given.find("what") : given.end();
  if (!given.is_object() || what == given.end() || !what->is_string()) return std::nullopt;
  const auto* const known = std::find_if(deeds.begin(), deeds.end(), [&](deed one) {
    return name_of(one) == what->get_ref<const std::string&>();
  });
  return known == deeds.end() ? std::nullopt : std::optional(*known);
}

}  // namespace

std::string_view name_of(deed what) {
  switch (what) {
    case deed::retry:
      return "retry";
    case deed::discard:
      return "discard";
    case deed::replay:
      return "replay";
    case deed::cancel:
      return "cancel";
    case deed::postpone:
      return "postpone";
    case deed::edit:
      return "edit";
    case deed::pause:
      return "pause";
    case deed::resume:
      return "resume";
  }
  return {};
}

std::optional<app::change> change_of(const wanted& what) {
  switch (what.what) {
    case deed::retry:
      return app::change::retry;
    case deed::discard:
      return app::change::discard;
    case deed::replay:
      return app::change::replay;
    case deed::cancel:
      return app::change::cancel;
    case deed::postpone:
      return app::change::postpone;
    case deed::edit:
      return what.change.edit.retry ? app::change::edit_dead : app::change::edit;
    case deed::pause:
    case deed::resume:
      return std::nullopt;
  }
  return std::nullopt;
}

result<wanted> read_wanted(const json& given) {
  const auto what = deed_of(given);
  if (!what) return permanent("what is retry, discard, replay, cancel, postpone, edit, pause or resume");
  wanted out{*what};
  members from(given);
  if (*what == deed::edit) take_edit(from, out.change.edit);
  const auto change = change_of(out);
  if (change) {
    take_selectors(from, out.change.which);
    if (*what == deed::replay) {
      from.take_rate(out.change.rate);
      from.take("exchange", out.change.exchange);
      from.take("routing_key", out.change.routing_key);
    }
    if (*what == deed::postpone) from.take("to", out.change.to);
  } else {
    from.take("event_type", out.pause.event_types);
    from.take("aggregate_type", out.pause.aggregate_types);
    from.take("exchange", out.pause.exchanges);
    from.take("routing_key", out.pause.routing_keys);
    from.take("all", out.pause.all);
    if (*what == deed::pause) from.take("until", out.pause.until);
  }
  if (auto wrong = from.wrong()) return permanent(*std::move(wrong));
  const auto good =
      change ? app::check_order(*change, out.change) : app::check_order(command_of(*what), out.pause);
  if (!good) return tl::make_unexpected(good.error());
  return out;
}

std::string command_line_of(const wanted& what, const std::optional<std::string>& reason) {
  if (const auto change = change_of(what)) {
    auto order = what.change;
    order.reason = reason;
    return app::command_line_of(*change, order);
  }
  auto order = what.pause;
  order.reason = reason;
  return app::command_line_of(command_of(what.what), order);
}

}  // namespace outboxd::console
