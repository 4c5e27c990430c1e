// console_setting: reads [console].
#pragma once

#include "app/config/setting_reader.hpp"
#include "app/config/settings.hpp"

namespace outboxd::app {

// `serves`: the console itself reads the settings. Other commands only validate the values and do not open
// the files that hold secrets, which they may not be permitted to read.
void read_console(setting_reader& from, bool serves, settings& out);

}  // namespace outboxd::app
