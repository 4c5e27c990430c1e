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

// A program and its arguments, separated by blanks. Within "" or '' a blank is part of a word, and within ""
// a backslash takes the next character as it is. Nothing else is special: there is no shell.
result<std::vector<std::string>> split_command(std::string_view text);

// The same text again: of a list of words, as a TOML array gives it.
std::string join_command(const std::vector<std::string>& words);

// None if the setting is empty, or refused: the program has to be an executable file under an absolute path.
std::shared_ptr<relay::password_command> read_password_command(setting_reader& from, const std::string& key);

// For relay::secret. A password in the address as well is an error.
result<std::string> join_database_password(const std::string& url, const std::string& password);
result<std::string> join_amqp_password(const std::string& url, const std::string& password);

// Why this address does not go with the command.
result<void> check_no_password(bool has_password, std::string_view section);

}  // namespace outboxd::app
