#include "app/config/setting_keys.hpp"

#include <algorithm>
#include <cctype>
#include <numeric>
#include <utility>
#include <vector>

namespace outboxd::app {
namespace {

// Computes the Levenshtein distance.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t changed = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = std::exchange(row[j], std::min({row[j] + 1, row[j - 1] + 1, changed}));
    }
  }
  return row.back();
}

std::string joined(std::string_view section, std::string_view name, char with) {
  std::string out(section);
  out.push_back(with);
  out += name;
  return out;
}

}  // namespace

std::string setting_key::key() const {
  return joined(section, name, '.');
}

std::string setting_key::flag() const {
  std::string out = "--" + joined(section, name, '-');
  std::replace_if(
      out.begin(), out.end(), [](char c) { return c == '_' || c == '.'; }, '-');
  return out;
}

std::string setting_key::environment() const {
  std::string out = "OUTBOXD_" + joined(section, name, '_');
  std::replace(out.begin(), out.end(), '.', '_');
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return out;
}

rank setting_key::how() const {
  const auto own = key();
  if (std::find(common_settings.begin(), common_settings.end(), own) != common_settings.end())
    return rank::common;
  const bool gone = std::any_of(deprecated_settings.begin(), deprecated_settings.end(),
                                [&](const deprecated_setting& one) { return one.key == own; });
  return gone ? rank::deprecated : rank::advanced;
}

bool is_section(std::string_view name) {
  return std::any_of(setting_keys.begin(), setting_keys.end(),
                     [name](const setting_key& one) { return one.section == name; });
}

std::string key_of_words(std::string_view words) {
  std::string longest(words.substr(0, words.find('_')));
  for (const setting_key& one : setting_keys) {
    std::string section(one.section);
    std::replace(section.begin(), section.end(), '.', '_');
    if (section.size() > longest.size() && words.starts_with(section + '_')) longest = one.section;
  }
  std::string key = longest;
  if (longest.size() < words.size()) key.append(1, '.').append(words.substr(longest.size() + 1));
  return key;
}

std::optional<setting_names> nearest_setting(std::string_view misspelled) {
  constexpr std::size_t near_enough = 4;
  // The maximum distance for a name given without its section. It is smaller for short words, which are often
  // similar by chance.
  const std::size_t near_enough_alone = std::min(near_enough, misspelled.size() / 3 + 1);
  std::optional<setting_names> best;
  std::size_t best_distance = near_enough;
  const auto consider = [&](std::string_view spelling, std::size_t limit, setting_names names) {
    const std::size_t away = distance(misspelled, spelling);
    if (away >= std::min(best_distance, limit)) return;
    best_distance = away;
    best = std::move(names);
  };
  for (const setting_key& one : setting_keys) {
    const setting_names names{one.key(), one.flag(), one.environment()};
    consider(names.key, near_enough, names);
    consider(one.name, near_enough_alone, names);
    if (one.secret)
      consider(one.key() + "_file", near_enough,
               {one.key() + "_file", one.flag() + "-file", one.environment() + "_FILE"});
  }
  consider("config", near_enough_alone, {"", "--config", "OUTBOXD_CONFIG"});
  return best;
}

}  // namespace outboxd::app
