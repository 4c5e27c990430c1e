// effective_settings: writes the settings in force and their origins as a TOML file without passwords.
#pragma once

#include <string>

#include "app/config/settings.hpp"

namespace outboxd::app {

enum class extent {
  usual,  // the common settings, and all settings that were given
  all,
};

// The output is a valid configuration file with the same settings, except that passwords are replaced with
// ***. Each line ends with a comment that names the setting's origin.
std::string to_toml(const settings& from, extent which);

}  // namespace outboxd::app
