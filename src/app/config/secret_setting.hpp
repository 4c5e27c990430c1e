// secret_setting: a setting whose value is a secret, or stands in a file that KEY_file names.
#pragma once

#include <string>
#include <vector>

#include "app/config/setting_reader.hpp"
#include "relay/secret.hpp"

namespace outboxd::app {

// The text of a secret now, or the file that it is read from each time.
relay::secret::text secret_of(setting_reader& from, const std::string& key);

const std::string& origin_of_secret(const setting_reader& from, const std::string& key);

// Only a file can be unreadable.
void fail_unreadable(setting_reader& from, const std::string& key, const error& why);

// Fails if both the secret and its file are given, and warns of a file that everybody can read.
void check_secret_file(setting_reader& from, const std::string& key, std::vector<std::string>& warnings);

}  // namespace outboxd::app
