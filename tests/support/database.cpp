// database: the blocking PostgreSQL session over libpq.
#include "support/database.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>

namespace outboxd::test {
namespace {

struct clear {
  void operator()(PGresult* result) const { PQclear(result); }
};
using result_ptr = std::unique_ptr<PGresult, clear>;

std::string trimmed(const char* message) {
  std::string text = message != nullptr ? message : "";
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

[[noreturn]] void fail(const result_ptr& result, PGconn* connection, const std::string& sql) {
  const char* state = result ? PQresultErrorField(result.get(), PG_DIAG_SQLSTATE) : nullptr;
  auto message = trimmed(result ? PQresultErrorMessage(result.get()) : PQerrorMessage(connection));
  throw database_error{fmt::format("{} (statement: {})", message, sql), state != nullptr ? state : ""};
}

result_rows rows_of(const result_ptr& result) {
  const int columns = PQnfields(result.get());
  result_rows rows(static_cast<std::size_t>(PQntuples(result.get())));
  for (int r = 0; r < PQntuples(result.get()); ++r) {
    auto& target = rows[static_cast<std::size_t>(r)];
    target.reserve(static_cast<std::size_t>(columns));
    for (int c = 0; c < columns; ++c) {
      if (PQgetisnull(result.get(), r, c) != 0) {
        target.emplace_back();
      } else {
        const auto length = static_cast<std::size_t>(PQgetlength(result.get(), r, c));
        target.emplace_back(std::string{PQgetvalue(result.get(), r, c), length});
      }
    }
  }
  return rows;
}

/// Unique among the tests that run at the same time, and after a crashed run that left its database behind.
std::string unique_name() {
  static std::atomic<unsigned> counter{0};
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(now).count();
  return fmt::format("outboxd_test_{}_{}_{}", micros, ::getpid(), ++counter);
}

}  // namespace

database::database(const std::string& url) : connection_{PQconnectdb(url.c_str())} {
  if (!connection_) throw std::bad_alloc{};
  if (PQstatus(connection_.get()) != CONNECTION_OK) {
    throw database_error{trimmed(PQerrorMessage(connection_.get())), ""};
  }
  PQsetNoticeProcessor(
      connection_.get(), [](void*, const char*) {}, nullptr);
}

result_rows database::exec(const std::string& sql, const std::vector<cell>& params) {
  result_ptr result;
  if (params.empty()) {
    result.reset(PQexec(connection_.get(), sql.c_str()));
  } else {
    std::vector<const char*> values;
    values.reserve(params.size());
    for (const auto& param : params) values.push_back(param ? param->c_str() : nullptr);
    result.reset(PQexecParams(connection_.get(), sql.c_str(), static_cast<int>(values.size()), nullptr,
                              values.data(), nullptr, nullptr, 0));
  }
  switch (PQresultStatus(result.get())) {
    case PGRES_TUPLES_OK:
    case PGRES_COMMAND_OK:
    case PGRES_EMPTY_QUERY:
      return rows_of(result);
    default:
      fail(result, connection_.get(), sql);
  }
}

std::string database::value(const std::string& sql, const std::vector<cell>& params) {
  const auto rows = exec(sql, params);
  if (rows.size() != 1 || rows[0].size() != 1 || !rows[0][0]) {
    throw std::runtime_error{"expected exactly one value that is not NULL from: " + sql};
  }
  return *rows[0][0];
}

std::int64_t database::number(const std::string& sql, const std::vector<cell>& params) {
  return std::stoll(value(sql, params));
}

std::string with_database(const std::string& url, const std::string& name) {
  const auto scheme = url.find("://");
  if (scheme == std::string::npos) return url + " dbname=" + name;  // keyword form: the last one wins
  const auto authority = scheme + 3;
  const auto end = url.find_first_of("/?", authority);
  const auto query = url.find('?', authority);
  return url.substr(0, end) + "/" + name + (query == std::string::npos ? "" : url.substr(query));
}

std::string required_environment(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') {
    throw std::runtime_error{fmt::format("{} is not set; eval \"$(tools/services env)\" sets it", name)};
  }
  return value;
}

fresh_database::fresh_database(std::string server_url, const std::string& encoding,
                               const std::string& copied_from)
    : server_url_{std::move(server_url)}, name_{unique_name()}, url_{with_database(server_url_, name_)} {
  auto create = "CREATE DATABASE " + name_;
  if (!encoding.empty())
    create += " ENCODING '" + encoding + "' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0";
  if (!copied_from.empty()) create += " TEMPLATE " + copied_from;
  database{server_url_}.exec(create);
}

fresh_database::~fresh_database() {
  try {
    database{server_url_}.exec("DROP DATABASE IF EXISTS " + name_ + " WITH (FORCE)");
  } catch (const std::exception& error) {
    fmt::print(stderr, "database {} is left behind: {}\n", name_, error.what());
  }
}

}  // namespace outboxd::test
