#include "app/config/secret_setting.hpp"

#include <fmt/format.h>

#include "app/config/secret_file.hpp"

namespace outboxd::app {

relay::secret::text secret_of(setting_reader& from, const std::string& key) {
  const auto file_key = key + "_file";
  if (from.has(file_key)) return [path = from.value(file_key).text] { return read_secret_file(path); };
  return [text = from.value(key).text]() -> result<std::string> { return text; };
}

const std::string& origin_of_secret(const setting_reader& from, const std::string& key) {
  return from.has(key + "_file") ? from.value(key + "_file").origin : from.value(key).origin;
}

void fail_unreadable(setting_reader& from, const std::string& key, const error& why) {
  from.fail(fmt::format("{}_file ({}): {}", key, origin_of_secret(from, key), why.message));
}

void check_secret_file(setting_reader& from, const std::string& key, std::vector<std::string>& warnings) {
  const auto file_key = key + "_file";
  if (!from.has(file_key)) return;
  if (from.has(key))
    from.fail(fmt::format("{} and {} are both given ({}, {}); give one of them", key, file_key,
                          from.value(key).origin, from.value(file_key).origin));
  const auto& path = from.value(file_key).text;
  if (is_world_readable(path))
    warnings.push_back(
        fmt::format("{} ({}): everybody can read {}; chmod 600 {}, or 440 with a group of "
                    "outboxd's own",
                    file_key, from.value(file_key).origin, path, path));
}

}  // namespace outboxd::app
