#include "pg/blocking_session.hpp"

#include <fmt/format.h>

#include <array>

#include "pg/connection_string.hpp"

namespace outboxd::pg {
namespace {

// - search_path: a name that is not qualified is PostgreSQL's own, whoever may create others.
// - idle_session_timeout: a command may take its time between two statements. (PostgreSQL 14; before that
//   there is none.)
constexpr const char* session_settings =
    "SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', false);"
    "SELECT set_config(s.name, '0', false) FROM pg_settings AS s WHERE s.name = 'idle_session_timeout'";

}  // namespace

result<void> blocking_session::open(const std::string& connection_string, const char* application_name) {
  const std::array<const char*, 5> keywords{"fallback_application_name", "connect_timeout", "dbname",
                                            "client_encoding", nullptr};
  const std::array<const char*, 5> values{application_name, "10", connection_string.c_str(), "UTF8", nullptr};
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
  const char* const sqlstate = PQresultErrorField(from, PG_DIAG_SQLSTATE);
  const char* const words = PQresultErrorField(from, PG_DIAG_MESSAGE_PRIMARY);
  const char* const source_file = PQresultErrorField(from, PG_DIAG_SOURCE_FILE);
  const char* const inner_query = PQresultErrorField(from, PG_DIAG_INTERNAL_QUERY);
  return tl::make_unexpected(
      refusal{sqlstate != nullptr ? sqlstate : "",
              one_line(words != nullptr ? words : PQerrorMessage(connection_.get())),
              speaker(source_file != nullptr ? source_file : "", inner_query != nullptr ? inner_query : "")});
}

}  // namespace outboxd::pg
