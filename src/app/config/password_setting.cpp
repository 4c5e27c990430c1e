#include "app/config/password_setting.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "amqp/url_password.hpp"
#include "pg/connection_string.hpp"

namespace outboxd::app {
namespace {

constexpr std::string_view separators = " \t\n\r";

// Returns why the program cannot be used; empty if it can.
std::string wrong_with_program(const std::string& program) {
  if (!program.starts_with('/'))
    return "is no absolute path, and PATH is not searched; give one such as /usr/bin/aws";
  struct stat status {};
  if (::stat(program.c_str(), &status) != 0)
    return fmt::format("cannot be run: {}", std::generic_category().message(errno));
  if (S_ISDIR(status.st_mode)) return "is a directory and no program";
  if (!S_ISREG(status.st_mode)) return "is no file and so no program";
  if (::access(program.c_str(), X_OK) != 0)
    return fmt::format("may not be run by outboxd's user: {}; chmod +x {}",
                       std::generic_category().message(errno), program);
  return {};
}

}  // namespace

result<std::vector<std::string>> split_command(std::string_view text) {
  std::vector<std::string> words;
  char quote = 0;
  bool in_word = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote == 0 && separators.find(c) != std::string_view::npos) {
      in_word = false;
      continue;
    }
    if (!in_word) words.emplace_back();
    in_word = true;
    if (quote == 0 && (c == '"' || c == '\'')) {
      quote = c;
    } else if (quote != 0 && c == quote) {
      quote = 0;
    } else if (c == '\0') {
      return permanent("has a NUL");
    } else {
      if (quote == '"' && c == '\\' && i + 1 < text.size()) ++i;
      words.back().push_back(text[i]);
    }
  }
  if (quote != 0) return permanent(fmt::format("has a {} that is not closed", quote));
  return words;
}

std::string join_command(const std::vector<std::string>& words) {
  std::string out;
  for (const auto& word : words) {
    if (!out.empty()) out.push_back(' ');
    const bool plain = !word.empty() && word.find_first_of(" \t\n\r\"'") == std::string::npos;
    if (plain) {
      out += word;
      continue;
    }
    out.push_back('"');
    for (const char c : word) {
      if (c == '"' || c == '\\') out.push_back('\\');
      out.push_back(c);
    }
    out.push_back('"');
  }
  return out;
}

std::shared_ptr<relay::password_command> read_password_command(setting_reader& from, const std::string& key) {
  if (!from.has(key)) return nullptr;
  const auto& [text, origin] = from.value(key);
  auto words = split_command(text);
  if (!words) {
    from.fail(fmt::format("{} ({}) {}", key, origin, words.error().message));
    return nullptr;
  }
  if (words->empty()) return nullptr;
  // The error names only the program, because its arguments may be secrets.
  if (const auto wrong = wrong_with_program(words->front()); !wrong.empty()) {
    from.fail(fmt::format("{} ({}): '{}' {}", key, origin, words->front(), wrong));
    return nullptr;
  }
  return std::make_shared<relay::password_command>(key, std::move(*words));
}

result<void> check_no_password(bool has_password, std::string_view section) {
  if (!has_password) return {};
  return permanent(fmt::format(
      "{0}.url has a password, and {0}.password_command is given as well; give one of them", section));
}

result<std::string> join_database_password(const std::string& url, const std::string& password) {
  OUTBOXD_TRY_VOID(check_no_password(pg::has_password(url), "database"));
  return pg::with_password(url, password);
}

result<std::string> join_amqp_password(const std::string& url, const std::string& password) {
  OUTBOXD_TRY_VOID(check_no_password(amqp::has_password(url), "amqp"));
  return amqp::with_password(url, password);
}

}  // namespace outboxd::app
