// effective_settings: the settings in force, each with where it came from, as a TOML file without passwords.
#pragma once

#include <string>

#include "app/config/settings.hpp"

namespace outboxd::app {

enum class extent {
  usual,  // the common settings, and those that are given
  all,
};

// Fed back as a file it means the same, but for the passwords, which are ***. Each line ends with the origin
// as a comment.
std::string to_toml(const settings& from, extent which);

}  // namespace outboxd::app
