// effective_settings: writes the settings in force and their origins as a TOML file without passwords.
#pragma once

#include <string>

#include "app/config/settings.hpp"

namespace outboxd::app {

enum class extent {
  usual,  // the common settings, and the given ones
  all,
};

// The output means the same when it is read as a configuration file, except for the passwords, which are ***.
// Each line ends with the origin of the setting as a comment.
std::string to_toml(const settings& from, extent which);

}  // namespace outboxd::app
