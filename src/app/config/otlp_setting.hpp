// otlp_setting: the collector that gets a span of each event.
#pragma once

#include "app/config/setting_reader.hpp"
#include "app/config/settings.hpp"

namespace outboxd::app {

// What is wrong goes to `from`.
void read_otlp(setting_reader& from, settings& out);

}  // namespace outboxd::app
