// setting_flags: the flags of all settings; collects the settings from flags, environment and file.
#pragma once

#include <CLI/CLI.hpp>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "app/config/outbox_files.hpp"
#include "app/config/raw_settings.hpp"
#include "app/config/setting_keys.hpp"
#include "core/error.hpp"

namespace outboxd::app {

class setting_flags {
 public:
  // CLI11 keeps pointers to the values, so this object must not move and must outlive the parsing.
  explicit setting_flags(CLI::App& app);
  setting_flags(const setting_flags&) = delete;
  setting_flags& operator=(const setting_flags&) = delete;

  // Returns the settings from flags, environment and file. Must be called after the parsing.
  result<raw_settings> gather() const;

  // Returns the outbox files in the directory named by --outboxes or OUTBOXD_OUTBOXES, or in
  // /etc/outboxd/outboxes.d if the main file is the default one. If the list is empty, the main settings
  // define the only outbox. Fails if a directory that the user named cannot be read or has no such file.
  result<std::vector<outbox_file>> outboxes() const;

  // Returns the help text of all settings. --help itself lists only the common ones.
  std::string help() const;

 private:
  struct flag {
    std::string key;
    std::string name;
    std::string value;
    CLI::Option* option = nullptr;
    rank how = rank::advanced;
  };
  void add(CLI::App& app, flag what, const std::string& help);
  std::optional<raw_value> configuration_file()
      const;  // the main file's path; nullopt if no file is named and the default file does not exist

  std::deque<flag> flags_;
  CLI::Option* config_ = nullptr;
  CLI::Option* outboxes_ = nullptr;
  std::string file_;
  std::string folder_;
};

}  // namespace outboxd::app
