// log: writes lines to standard error, as text or JSON. A reader that stops reading does not block the
// process.
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

// A field of a JSON log line other than the message.
struct log_field {
  std::string_view name;
  std::variant<std::string, std::int64_t> value;
};
using log_fields = std::vector<log_field>;

class logger final : public spdlog::logger {
 public:
  // outbox: the name shown in each line; empty: no name.
  explicit logger(const log_settings& settings, std::string outbox = {});

  // Applies to the following lines.
  void adopt(const log_settings& settings);
  void of_outbox(std::string name);

  // In the text format the line has only the message.
  void say(spdlog::level::level_enum level, std::string_view message, const log_fields& beside);

 private:
  void format_lines();

  log_format format_ = log_format::text;
  std::string outbox_;
  // the fields of the line being written, else null
  std::shared_ptr<const log_fields*> beside_;
};

std::shared_ptr<logger> make_logger(const log_settings& settings, std::string outbox = {});

}  // namespace outboxd::app
