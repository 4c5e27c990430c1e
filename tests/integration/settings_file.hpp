// settings_file: a TOML file for `--config` that a test can change; it goes with the object.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "stage.hpp"

namespace outboxd::test {

class settings_file {
 public:
  explicit settings_file(const std::string& text)
      : path_{std::filesystem::temp_directory_path() /
              fmt::format("outboxd-settings-{}-{}.toml", ::getpid(), ++counter)} {
    write(text);
  }
  ~settings_file() { std::filesystem::remove(path_); }
  settings_file(const settings_file&) = delete;
  settings_file& operator=(const settings_file&) = delete;

  void write(const std::string& text) const { std::ofstream{path_, std::ios::trunc} << text; }
  std::string path() const { return path_.string(); }
  arguments flags() const { return {"--config", path()}; }

 private:
  static inline int counter = 0;
  std::filesystem::path path_;
};

}  // namespace outboxd::test
