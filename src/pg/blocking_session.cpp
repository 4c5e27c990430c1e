#include "pg/blocking_session.hpp"

#include <fmt/format.h>

#include <array>

#include "pg/connection_string.hpp"
#include "pg/error_fields_of.hpp"

namespace outboxd::pg {
namespace {

// - search_path: an unqualified name refers to PostgreSQL's own object, even if users can create objects.
// - idle_session_timeout (PostgreSQL 14 and newer): off, because a command may pause between two statements.
constexpr const char* session_settings =
    "SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', false);"
    "SELECT set_config('idle_session_timeout', '0', false)"
    " WHERE current_setting('idle_session_timeout', true) IS NOT NULL";

}  // namespace

result<void> blocking_session::open(const std::string& connection_string, const char* application_name) {
  // These options detect a lost machine or network within half a minute, however long a statement takes,
  // because the kernel of a busy server still answers. The connection string may override them.
  const std::array<const char*, 9> keywords{"fallback_application_name",
                                            "connect_timeout",
                                            "tcp_user_timeout",
                                            "keepalives_idle",
                                            "keepalives_interval",
                                            "keepalives_count",
                                            "dbname",
                                            "client_encoding",
                                            nullptr};
  const std::array<const char*, 9> values{application_name,          "10",   "30000", "10", "5", "4",
                                          connection_string.c_str(), "UTF8", nullptr};
  connection_.reset(PQconnectdbParams(keywords.data(), values.data(), 1));
  if (PQstatus(connection_.get()) == CONNECTION_OK && execute(session_settings)) return {};
  return permanent(fmt::format("cannot connect to {}: {}", display(connection_string),
                               one_line(PQerrorMessage(connection_.get()))));
}

tl::expected<rows, refusal> blocking_session::execute(const std::string& sql) {
  return answer(PQexec(connection_.get(), sql.c_str()));
}

tl::expected<rows, refusal> blocking_session::execute(const std::string& sql,
                                                      const std::vector<std::string>& parameters) {
  std::vector<const char*> values;
  values.reserve(parameters.size());
  for (const std::string& one : parameters) values.push_back(one.c_str());
  return answer(PQexecParams(connection_.get(), sql.c_str(), static_cast<int>(values.size()), nullptr,
                             values.data(), nullptr, nullptr, 0));
}

tl::expected<rows, refusal> blocking_session::answer(PGresult* from) {
  rows owned(from);
  const auto status = PQresultStatus(from);
  if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK) return owned;
  const error_fields said = fields_of(from);
  return tl::make_unexpected(
      refusal{std::string(said.sqlstate),
              one_line(said.message.empty() ? PQerrorMessage(connection_.get()) : said.message),
              speaker(said.source_file, said.inner_query), site_of(said, PQuser(connection_.get())),
              is_denial(said)});
}

}  // namespace outboxd::pg
