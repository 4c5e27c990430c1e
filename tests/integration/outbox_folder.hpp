// outbox_folder: a folder of files that each give one outbox, and a relay process for all of them.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "asked_relay.hpp"
#include "stage.hpp"

namespace outboxd::test {

class outbox_folder {
 public:
  outbox_folder()
      : path_{std::filesystem::temp_directory_path() /
              fmt::format("outboxd-outboxes-{}-{}", ::getpid(), ++counter)} {
    std::filesystem::create_directory(path_);
  }
  ~outbox_folder() { std::filesystem::remove_all(path_); }
  outbox_folder(const outbox_folder&) = delete;
  outbox_folder& operator=(const outbox_folder&) = delete;

  std::string path() const { return path_.string(); }
  std::string file(const std::string& name) const { return (path_ / (name + ".toml")).string(); }
  /// As a deployment tool writes a file: at once. The section [relay] is the last one of the text.
  void write(const std::string& name, const std::string& text) const {
    const auto hidden = path_ / ("." + name);
    std::ofstream{hidden, std::ios::trunc} << text;
    std::filesystem::rename(hidden, file(name));
  }
  void add(const std::string& name, const stage& on, const std::string& more = {}) const {
    write(name, fmt::format("[database]\nurl = \"{}\"\n[outbox]\nschema = \"{}\"\n{}", on.database_url(),
                            on.schema(), more));
  }
  void remove(const std::string& name) const { std::filesystem::remove(file(name)); }
  arguments flags(arguments more = {}) const {
    more.insert(more.end(), {"--outboxes", path()});
    return more;
  }

 private:
  static inline int counter = 0;
  std::filesystem::path path_;
};

/// /readyz of a process with several outboxes.
inline nlohmann::json readiness(const asked_relay& of) {
  return nlohmann::json::parse(of.get("/readyz").body);
}

inline void await_ready(const asked_relay& of, const std::string& outbox, bool ready = true) {
  eventually(
      outbox + (ready ? " is ready" : " is not ready"),
      [&] { return readiness(of).at("outboxes").value(outbox, !ready) == ready; }, time_limit);
}

/// The codes of the reasons why this outbox is not ready.
inline std::vector<std::string> reasons(const asked_relay& of, const std::string& outbox) {
  std::vector<std::string> out;
  const auto all = readiness(of);
  for (const auto& one : all.at("reasons"))
    if (one.at("outbox") == outbox) out.push_back(one.at("code"));
  return out;
}

inline void await_reason(const asked_relay& of, const std::string& outbox, const std::string& code) {
  eventually(
      fmt::format("{} is not ready because of {}", outbox, code),
      [&] {
        const auto all = reasons(of, outbox);
        return std::find(all.begin(), all.end(), code) != all.end();
      },
      time_limit);
}

}  // namespace outboxd::test
