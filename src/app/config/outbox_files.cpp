#include "app/config/outbox_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "app/config/route_keys.hpp"

namespace outboxd::app {
namespace {

constexpr std::string_view extension = ".toml";

}  // namespace

bool is_outbox_name(std::string_view name) {
  constexpr std::size_t longest = 63;
  const auto is_alphanumeric = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  return !name.empty() && name.size() <= longest && name != all_outboxes && is_alphanumeric(name.front()) &&
         std::all_of(name.begin(), name.end(),
                     [&](char c) { return is_alphanumeric(c) || c == '.' || c == '_' || c == '-'; });
}

outbox_file outbox_file_at(const std::string& path) {
  std::string name = std::filesystem::path(path).filename().string();
  if (name.ends_with(extension)) name.resize(name.size() - extension.size());
  return {std::move(name), path};
}

result<std::vector<outbox_file>> outbox_files_in(const std::string& folder) {
  std::error_code failed;
  std::vector<outbox_file> out;
  for (std::filesystem::directory_iterator at(folder, failed), end; !failed && at != end;
       at.increment(failed)) {
    const auto name = at->path().filename().string();
    if (name.ends_with(extension) && !name.starts_with('.'))
      out.push_back(outbox_file_at(at->path().string()));
  }
  if (failed)
    return permanent(fmt::format("cannot read the folder {} of outboxes: {}", folder, failed.message()));
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return out;
}

bool is_of_process(std::string_view key) {
  constexpr std::array<std::string_view, 2> single{"relay.shutdown_grace", "relay.total_bytes"};
  constexpr std::array<std::string_view, 2> of_an_outbox{"console.access", "console.act_users"};
  constexpr std::array<std::string_view, 4> sections{"http.", "log.", "otlp.", "console."};
  if (std::find(single.begin(), single.end(), key) != single.end()) return true;
  if (std::find(of_an_outbox.begin(), of_an_outbox.end(), key) != of_an_outbox.end()) return false;
  return std::any_of(sections.begin(), sections.end(),
                     [&](std::string_view section) { return key.starts_with(section); });
}

result<raw_settings> settings_of_outbox(const outbox_file& one, const raw_settings& defaults) {
  if (!is_outbox_name(one.name))
    return permanent(
        fmt::format("the name of {} cannot be that of an outbox: it is 1 to 63 letters, digits, '.', '_' and "
                    "'-', begins with a letter or digit, and is not '{}'",
                    one.path, all_outboxes));
  OUTBOXD_TRY(auto given, read_file(one.path, fmt::format("outbox {}", one.name)));
  bool routes = false;
  for (const auto& [key, value] : given) {
    if (is_of_process(key))
      return permanent(
          fmt::format("{} ({}) is a setting of the process; give it in the main file, for all outboxes", key,
                      value.origin));
    routes = routes || is_route_key(key);
  }
  raw_settings others = defaults;
  if (routes) std::erase_if(others, [](const auto& each) { return is_route_key(each.first); });
  return merge(std::move(given), others);
}

}  // namespace outboxd::app
