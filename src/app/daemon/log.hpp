// log: lines on standard error, as text or as JSON; a reader that has stopped reading stops nobody.
#pragma once

#include <spdlog/logger.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "app/config/settings.hpp"

namespace outboxd::app {

// What a line in JSON says beside its message.
struct log_field {
  std::string_view name;
  std::variant<std::string, std::int64_t> value;
};
using log_fields = std::vector<log_field>;

class logger final : public spdlog::logger {
 public:
  // outbox: its name is in each line; empty: none.
  explicit logger(const log_settings& settings, std::string outbox = {});

  // From the next line on.
  void adopt(const log_settings& settings);
  void of_outbox(std::string name);

  // In text it is the message alone.
  void say(spdlog::level::level_enum level, std::string_view message, const log_fields& beside);

 private:
  void format_lines();

  log_format format_ = log_format::text;
  std::string outbox_;
  // Of the line that is being written, else null.
  std::shared_ptr<const log_fields*> beside_;
};

std::shared_ptr<logger> make_logger(const log_settings& settings, std::string outbox = {});

}  // namespace outboxd::app
