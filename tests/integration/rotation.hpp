// rotation: credentials of a test's own that change while something uses them.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include "stage.hpp"
#include "support/broker_admin.hpp"

namespace outboxd::test {

/// A secret in a file.
class secret_file {
 public:
  explicit secret_file(const std::string& name) : path_{std::filesystem::temp_directory_path() / name} {}
  ~secret_file() { std::filesystem::remove(path_); }
  secret_file(const secret_file&) = delete;
  secret_file& operator=(const secret_file&) = delete;

  // Like everybody who replaces a secret: a new file, then a rename.
  void write(const std::string& text) const {
    const auto fresh = path_.string() + ".new";
    std::ofstream{fresh} << text << '\n';
    std::filesystem::permissions(fresh, std::filesystem::perms::owner_read);
    std::filesystem::rename(fresh, path_);
  }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

/// A RabbitMQ user of the test's own.
class broker_user {
 public:
  broker_user(std::string name, const std::string& password) : name_{std::move(name)} {
    add_user(name_, password);
    set_permissions(name_);
  }
  ~broker_user() {
    try {
      delete_user(name_);
    } catch (const std::exception&) {
    }
  }
  broker_user(const broker_user&) = delete;
  broker_user& operator=(const broker_user&) = delete;

  std::string url(const std::string& password) const {
    const auto admin = required_environment("OUTBOXD_AMQP_URL");
    return fmt::format("amqp://{}:{}{}", name_, password, admin.substr(admin.find('@')));
  }
  void change_password(const std::string& password) const { test::change_password(name_, password); }
  void close_connections() const { close_connections_of(name_, "test"); }

 private:
  std::string name_;
};

}  // namespace outboxd::test
