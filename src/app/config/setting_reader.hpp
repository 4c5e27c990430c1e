// setting_reader: raw settings as typed values; what is missing has its default, what is wrong is refused.
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

// Keeps the first error and goes on with something in range. An error names the key, the value, where it came
// from and what is allowed.
class setting_reader {
 public:
  // `raw` has to outlive it.
  explicit setting_reader(const raw_settings& raw);

  const raw_value& value(const std::string& key) const;
  bool has(const std::string& key) const { return raw_.contains(key); }

  // Both ends included; `allowed` names them for the error.
  std::chrono::milliseconds duration(const std::string& key, std::chrono::milliseconds least,
                                     std::chrono::milliseconds most, std::string_view allowed);
  // nullopt: never.
  std::optional<std::chrono::milliseconds> duration_or_never(const std::string& key,
                                                             std::chrono::milliseconds least,
                                                             std::chrono::milliseconds most,
                                                             std::string_view allowed);
  std::int64_t integer(const std::string& key, std::int64_t least, std::int64_t most);
  std::int64_t size(const std::string& key, std::int64_t least, std::int64_t most, std::string_view allowed);
  bool yes(const std::string& key);

  // The index of the value in `allowed`.
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
