// secret_setting: a setting whose value is a secret, given directly or in a file named by KEY_file.
#pragma once

#include <string>
#include <vector>

#include "app/config/setting_reader.hpp"
#include "relay/secret.hpp"

namespace outboxd::app {

// Returns the text of a secret, or the file from which it is read each time.
relay::secret::text secret_of(setting_reader& from, const std::string& key);

const std::string& origin_of_secret(const setting_reader& from, const std::string& key);

// Reports a secret's file that cannot be read.
void fail_unreadable(setting_reader& from, const std::string& key, const error& why);

// Fails if both the secret and its file are given. Warns about a file that everybody can read.
void check_secret_file(setting_reader& from, const std::string& key, std::vector<std::string>& warnings);

}  // namespace outboxd::app
