// refusal_site: where in the database a statement was rejected, and the remedy. The text contains only names
// from the catalog, and no data of a row.
#pragma once

#include <string>
#include <string_view>

namespace outboxd::pg {

// The fields of an error: PG_DIAG_* of PQresultErrorField.
struct error_fields {
  std::string_view sqlstate{};
  std::string_view message{};      // PG_DIAG_MESSAGE_PRIMARY
  std::string_view source_file{};  // PG_DIAG_SOURCE_FILE
  std::string_view inner_query{};  // PG_DIAG_INTERNAL_QUERY
  std::string_view context{};      // PG_DIAG_CONTEXT
  std::string_view schema{}, table{}, constraint{};
};

// Text to append to the server's message: "; in function audit(): GRANT INSERT ON TABLE audit_log TO relay,
// or ...". Empty: unknown. user: the user whose statement was rejected.
std::string site_of(const error_fields& from, std::string_view user);

// Like site_of, for a login: the user is not allowed to connect to the database. PostgreSQL names the
// database, in any language.
std::string site_of_login(std::string_view sqlstate, std::string_view words, std::string_view database,
                          std::string_view user);

// True if the session's own user lacks a privilege; false if a statement in a user's function failed.
bool is_denial(const error_fields& from);

// The user's function, for example a trigger function, in which a statement was rejected; empty: none.
std::string_view function_of(std::string_view context);

}  // namespace outboxd::pg
