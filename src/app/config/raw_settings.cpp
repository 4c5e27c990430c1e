#include "app/config/raw_settings.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <vector>

#include "app/config/foreign_variables.hpp"
#include "app/config/password_setting.hpp"
#include "app/config/route_keys.hpp"
#include "app/config/route_tables.hpp"
#include "app/config/setting_keys.hpp"
#include "app/config/text_file.hpp"

namespace outboxd::app {
namespace {

bool is_known(std::string_view key) {
  return std::any_of(setting_keys.begin(), setting_keys.end(), [&](const setting_key& one) {
    return key == one.key() || (one.secret && key == one.key() + "_file");
  });
}

tl::unexpected<error> unknown(std::string_view kind, std::string_view shown, std::string_view key,
                              std::string_view origin) {
  const auto nearest = nearest_setting(key);
  const auto meant = !nearest ? std::string() : kind == "variable" ? nearest->environment : nearest->key;
  const auto remedy =
      meant.empty() ? "`outboxd --help` lists the settings" : fmt::format("did you mean '{}'?", meant);
  return permanent(fmt::format("unknown {} '{}' in {}; {}", kind, shown, origin, remedy));
}

// A command may be an array of words, the program and its arguments; other arrays are lists of values.
std::optional<std::string> text_for(std::string_view key, const toml::node& value) {
  const auto* list = value.as_array();
  if (list == nullptr || !key.ends_with(".password_command")) return text_of(value);
  std::vector<std::string> words;
  for (const auto& item : *list) {
    const auto* text = item.as_string();
    if (text == nullptr) return std::nullopt;
    words.push_back(text->get());
  }
  return join_command(words);
}

result<void> read_section(const std::string& path, std::string_view section, const toml::table& table,
                          raw_settings& out) {
  for (const auto& [name, value] : table) {
    const auto key = fmt::format("{}.{}", section, name.str());
    const auto origin = origin_of(path, value.source());
    if (const auto* const inner = value.as_table(); inner != nullptr && is_section(key)) {
      if (const auto read = read_section(path, key, *inner, out); !read) return read;
      continue;
    }
    if (!is_known(key)) return unknown("key", key, key, origin);
    auto text = text_for(key, value);
    if (!text)
      return permanent(fmt::format(
          "{} in {} is neither a string, a whole number, true or false, nor a list of strings", key, origin));
    out[key] = {std::move(*text), origin};
  }
  return {};
}

result<toml::table> parse_file(const std::string& path, std::string_view named_by) {
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode))
    return permanent(fmt::format("the configuration file {} ({}) is not a file", path, named_by));
  const auto text = read_text_file(path);
  if (!text)
    return permanent(
        fmt::format("cannot read the configuration file {} ({}): {}", path, named_by, text.error().message));
  try {
    return toml::parse(*text, path);
  } catch (const toml::parse_error& wrong) {
    return permanent(
        fmt::format("{} is not valid TOML: {}", origin_of(path, wrong.source()), wrong.description()));
  }
}

constexpr std::string_view variable_prefix = "OUTBOXD_";

// OUTBOXD_RELAY_BATCH_BYTES → relay.batch_bytes. The variable for the schema has a short name, like its flag.
std::string key_of(std::string_view variable) {
  std::string name(variable.substr(variable_prefix.size()));
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return name == "schema" ? "outbox.schema" : key_of_words(name);
}

}  // namespace

result<raw_settings> read_file(const std::string& path, std::string_view named_by) {
  OUTBOXD_TRY(const auto table, parse_file(path, named_by));
  raw_settings out;
  for (const auto& [section, value] : table) {
    const auto origin = origin_of(path, value.source());
    if (section.str() == "route") {
      OUTBOXD_TRY_VOID(read_route_tables(path, value, out));
      continue;
    }
    const auto* inner = value.as_table();
    if (!is_section(section.str()) || inner == nullptr)
      return unknown(inner != nullptr ? "section" : "key", section.str(), section.str(), origin);
    OUTBOXD_TRY_VOID(read_section(path, section.str(), *inner, out));
  }
  return out;
}

result<raw_settings> read_environment(char** environment) {
  raw_settings out;
  for (; *environment != nullptr; ++environment) {
    const std::string_view entry(*environment);
    const auto equals = entry.find('=');
    if (equals == std::string_view::npos) continue;
    const auto variable = entry.substr(0, equals);
    const auto value = entry.substr(equals + 1);
    if (!variable.starts_with(variable_prefix) || variable == config_variable ||
        variable == outboxes_variable || is_foreign_variable(variable, value))
      continue;
    const auto key = key_of(variable);
    if (!is_known(key)) return unknown("variable", variable, key, "the environment");
    const auto origin = fmt::format("environment {}", variable);
    if (const auto [given, first] = out.try_emplace(key, raw_value{std::string(value), origin});
        !first && given->second.origin != origin)
      return permanent(
          fmt::format("{} and {} both give {}; set one of them", given->second.origin, origin, key));
  }
  return out;
}

raw_settings merge(raw_settings stronger, const raw_settings& weaker) {
  constexpr std::string_view file_suffix = "_file";
  const raw_settings given = stronger;
  for (const auto& [key, value] : weaker) {
    const auto twin = key.ends_with(file_suffix) ? key.substr(0, key.size() - file_suffix.size())
                                                 : key + std::string(file_suffix);
    if (!given.contains(key) && !given.contains(twin)) stronger[key] = value;
  }
  return stronger;
}

}  // namespace outboxd::app
