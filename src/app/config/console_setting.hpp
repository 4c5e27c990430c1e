// console_setting: reads [console].
#pragma once

#include "app/config/setting_reader.hpp"
#include "app/config/settings.hpp"

namespace outboxd::app {

// `serves`: it is the console that reads them. Others only look whether each value is allowed, and leave
// files with secrets alone, which they may have no right to read.
void read_console(setting_reader& from, bool serves, settings& out);

}  // namespace outboxd::app
