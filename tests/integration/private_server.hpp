// private_server: what a server of a test's own needs: a user that it runs as and a directory.
#pragma once

#include <string>
#include <vector>

#include "stage.hpp"

namespace outboxd::test {

/// PostgreSQL and pgbouncer refuse to run as root: then as the user postgres. Ends with this process.
process_options as_server_user(const std::string& program, const std::vector<std::string>& words);

/// A new directory of the server's user, deleted with this object.
class server_directory {
 public:
  server_directory();
  ~server_directory();
  server_directory(const server_directory&) = delete;
  server_directory& operator=(const server_directory&) = delete;

  const std::string& path() const { return path_; }
  /// Readable for the server's user alone.
  std::string write(const std::string& name, const std::string& text) const;

 private:
  std::string path_;
};

}  // namespace outboxd::test
