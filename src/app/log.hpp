// log: lines on standard error, as text or as JSON; a reader that has stopped reading stops nobody.
#pragma once

#include <spdlog/logger.h>
#include <memory>

#include "app/settings.hpp"

namespace outboxd::app {

std::shared_ptr<spdlog::logger> make_logger(const log_settings& settings);

}  // namespace outboxd::app
