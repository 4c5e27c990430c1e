// database: a blocking PostgreSQL session, and a database of a test of its own.
#pragma once

#include <libpq-fe.h>

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace outboxd::test {

/// A column's text, or nothing for SQL NULL.
using cell = std::optional<std::string>;
using cells = std::vector<cell>;
using result_rows = std::vector<cells>;

/// What the server (or libpq) said; `sqlstate` is empty when the connection itself failed.
struct database_error : std::runtime_error {
  database_error(const std::string& message, std::string state)
      : std::runtime_error{message}, sqlstate{std::move(state)} {}
  std::string sqlstate;
};

/// One session. Not for use by two threads at once.
class database {
 public:
  /// Connects; throws database_error.
  explicit database(const std::string& url);

  /// Runs one statement; parameters are $1, $2 … as text. Without parameters several statements may be
  /// separated by semicolons, and the rows are the last one's. Throws database_error with the server's
  /// message.
  result_rows exec(const std::string& sql, const std::vector<cell>& params = {});

  /// The only value of the only row; throws if the answer has another shape or is NULL.
  std::string value(const std::string& sql, const std::vector<cell>& params = {});
  std::int64_t number(const std::string& sql, const std::vector<cell>& params = {});

  /// The server's process id of this session, as pg_terminate_backend takes it.
  int backend_pid() const { return PQbackendPID(connection_.get()); }
  /// For what this class does not offer; stays owned by it.
  PGconn* handle() { return connection_.get(); }

 private:
  struct finish {
    void operator()(PGconn* connection) const { PQfinish(connection); }
  };
  std::unique_ptr<PGconn, finish> connection_;
};

/// The connection string `url` (URL or keyword form) with another database in it.
std::string with_database(const std::string& url, const std::string& name);

/// The value of an environment variable that the test cannot run without; throws, saying how to get it.
std::string required_environment(const char* name);

/// A new database under a unique name, dropped again (sessions and all) when this object goes.
class fresh_database {
 public:
  /// `server_url` is any database of the server, with a login that may create databases.
  /// `encoding`: another one than the server's default, with collation C. `copied_from`: a database that
  /// nobody is connected to; empty: PostgreSQL's own template.
  explicit fresh_database(std::string server_url = required_environment("OUTBOXD_DATABASE_URL"),
                          const std::string& encoding = {}, const std::string& copied_from = {});
  ~fresh_database();
  fresh_database(const fresh_database&) = delete;
  fresh_database& operator=(const fresh_database&) = delete;

  const std::string& name() const { return name_; }
  const std::string& url() const { return url_; }
  database connect() const { return database{url_}; }

 private:
  std::string server_url_;
  std::string name_;
  std::string url_;
};

}  // namespace outboxd::test
