#include "app/config/reload.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "app/config/route_keys.hpp"
#include "app/config/route_settings.hpp"
#include "app/config/setting_keys.hpp"

namespace outboxd::app {
namespace {

std::vector<std::string_view> live_between(const settings& a, const settings& b) {
  std::vector<std::string_view> out(live_keys.begin(), live_keys.end());
  if (a.relay.leader.database.after_publish != b.relay.leader.database.after_publish)
    std::erase(out, "retention.published");
  return out;
}

// Compares only the values: moving a setting to another line or file does not change it.
bool differs(const raw_settings& a, const raw_settings& b, const std::string& key,
             std::string_view fallback) {
  const auto text_in = [&](const raw_settings& all) {
    const auto found = all.find(key);
    return found != all.end() ? std::string_view(found->second.text) : fallback;
  };
  return text_in(a) != text_in(b);
}

raw_settings with_live_ones(raw_settings base, const raw_settings& found,
                            const std::vector<std::string_view>& live) {
  for (const auto key : live) {
    base.erase(std::string(key));
    if (const auto given = found.find(std::string(key)); given != found.end()) base.insert(*given);
  }
  std::erase_if(base, [](const auto& one) { return is_route_key(one.first); });
  for (const auto& one : found)
    if (is_route_key(one.first)) base.insert(one);
  return base;
}

std::map<std::string, std::string> route_texts(const raw_settings& from) {
  std::map<std::string, std::string> out;
  for (const auto& [key, value] : from)
    if (is_route_key(key)) out.emplace(key, value.text);
  return out;
}

}  // namespace

result<reloaded> reload(const settings& in_force, const raw_settings& found) {
  OUTBOXD_TRY(const auto all, read_settings(found));
  const auto live = live_between(in_force, all);
  auto mixed = read_settings(with_live_ones(in_force.raw, found, live));
  if (!mixed)
    return permanent(
        fmt::format("it does not fit the settings that only a restart changes: {}", mixed.error().message));
  reloaded out{.in_force = std::move(*mixed), .taken_up = {}, .at_restart = {}};
  const auto compare = [&](const std::string& key, std::string_view fallback) {
    if (differs(in_force.raw, found, key, fallback))
      (std::find(live.begin(), live.end(), key) != live.end() ? out.taken_up : out.at_restart).push_back(key);
  };
  for (const setting_key& one : setting_keys) {
    compare(one.key(), one.fallback);
    if (one.secret) compare(one.key() + "_file", "");
  }
  if (route_texts(in_force.raw) != route_texts(found)) out.taken_up.emplace_back("route");
  return out;
}

raw_value value_of(const settings& from, const std::string& key) {
  if (key == "route") {
    const auto first = std::find_if(from.raw.begin(), from.raw.end(),
                                    [](const auto& one) { return is_route_key(one.first); });
    return {names_of(from.relay.leader.stream.route),
            first != from.raw.end() ? first->second.origin : "the default"};
  }
  if (const auto found = from.raw.find(key); found != from.raw.end()) return found->second;
  const auto known = std::find_if(setting_keys.begin(), setting_keys.end(),
                                  [&](const setting_key& one) { return one.key() == key; });
  return {known != setting_keys.end() ? std::string(known->fallback) : std::string(), "the default"};
}

}  // namespace outboxd::app
