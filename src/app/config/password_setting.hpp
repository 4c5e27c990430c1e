// password_setting: the settings that name a program which prints a password.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "app/config/setting_reader.hpp"
#include "core/error.hpp"
#include "relay/password_command.hpp"

namespace outboxd::app {

// Splits the text into a program and its arguments, separated by blanks. A blank within "" or '' is part of a
// word; within "" a backslash escapes the next character. There is no shell, so no other character is
// special.
result<std::vector<std::string>> split_command(std::string_view text);

// The inverse of split_command(), for a list of words from a TOML array.
std::string join_command(const std::vector<std::string>& words);

// Returns null if the setting is empty or rejected: the program must be an executable file with an absolute
// path.
std::shared_ptr<relay::password_command> read_password_command(setting_reader& from, const std::string& key);

// Adds the password to the address, for relay::secret. Fails if the address already has a password.
result<std::string> join_database_password(const std::string& url, const std::string& password);
result<std::string> join_amqp_password(const std::string& url, const std::string& password);

// Fails if the address has a password, because the command supplies it.
result<void> check_no_password(bool has_password, std::string_view section);

}  // namespace outboxd::app
