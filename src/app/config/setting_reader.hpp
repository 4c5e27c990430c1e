// setting_reader: converts raw settings to typed values. Missing settings get their defaults; invalid ones
// are errors.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/config/raw_settings.hpp"
#include "core/error.hpp"

namespace outboxd::app {

// Stores the first error and continues with a valid value. The error names the key, the value, its origin and
// the allowed values.
class setting_reader {
 public:
  // `raw` must outlive the reader.
  explicit setting_reader(const raw_settings& raw);

  const raw_value& value(const std::string& key) const;
  bool has(const std::string& key) const { return raw_.contains(key); }

  // Both limits are inclusive; `allowed` describes them in the error.
  std::chrono::milliseconds duration(const std::string& key, std::chrono::milliseconds least,
                                     std::chrono::milliseconds most, std::string_view allowed);
  // Returns nullopt for "never".
  std::optional<std::chrono::milliseconds> duration_or_never(const std::string& key,
                                                             std::chrono::milliseconds least,
                                                             std::chrono::milliseconds most,
                                                             std::string_view allowed);
  std::int64_t integer(const std::string& key, std::int64_t least, std::int64_t most);
  std::int64_t size(const std::string& key, std::int64_t least, std::int64_t most, std::string_view allowed);
  bool yes(const std::string& key);

  // Returns the index of the value in `allowed`.
  template <std::size_t Size>
  std::size_t choice(const std::string& key, const std::array<std::string_view, Size>& allowed) {
    return choice(key, std::vector<std::string_view>(allowed.begin(), allowed.end()));
  }

  void refuse(const std::string& key, std::string_view allowed);
  void fail(std::string message);
  const std::optional<error>& failed() const { return failed_; }

 private:
  std::size_t choice(const std::string& key, const std::vector<std::string_view>& allowed);

  const raw_settings& raw_;
  raw_settings defaults_;
  std::optional<error> failed_;
};

}  // namespace outboxd::app
