#include "console/wanted.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <vector>

namespace outboxd::console {
namespace {

using nlohmann::json;

using app::deed;

constexpr std::array deeds{deed::retry,    deed::discard, deed::replay, deed::cancel,
                           deed::postpone, deed::edit,    deed::pause,  deed::resume};
constexpr std::size_t most_values = 1'000;  // per selector

// PostgreSQL texts cannot contain a NUL, and libpq would truncate the text there.
bool is_text(const json& value) {
  return value.is_string() && value.get_ref<const std::string&>().find('\0') == std::string::npos;
}

// Extracts the members of an object, and knows which members remain.
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

  // nullopt if everything was valid and no member is left.
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
    return app::words_of(one).name == what->get_ref<const std::string&>();
  });
  return known == deeds.end() ? std::nullopt : std::optional(*known);
}

}  // namespace

result<app::order> read_wanted(const json& given) {
  const auto what = deed_of(given);
  if (!what) return permanent("what is retry, discard, replay, cancel, postpone, edit, pause or resume");
  app::order out{*what};
  members from(given);
  if (out.changes_events()) {
    take_selectors(from, out.which);
  } else {
    from.take("event_type", out.which.event_types);
    from.take("aggregate_type", out.which.aggregate_types);
    from.take("exchange", out.which.exchanges);
    from.take("routing_key", out.which.routing_keys);
    from.take("all", out.which.all);
  }
  if (*what == deed::replay) {
    from.take_rate(out.rate);
    from.take("exchange", out.exchange);
    from.take("routing_key", out.routing_key);
  }
  if (*what == deed::postpone) from.take("to", out.until);
  if (*what == deed::pause) from.take("until", out.until);
  if (*what == deed::edit) take_edit(from, out.edit);
  if (auto wrong = from.wrong()) return permanent(*std::move(wrong));
  OUTBOXD_TRY_VOID(app::check_order(out));
  return out;
}

}  // namespace outboxd::console
