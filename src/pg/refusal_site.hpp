// refusal_site: where in the database a statement was refused, and the remedy. It contains names from the
// catalog only, and no data of a row.
#pragma once

#include <string>
#include <string_view>

namespace outboxd::pg {

// Fields of an error: PG_DIAG_* of PQresultErrorField.
struct error_fields {
  std::string_view sqlstate{};
  std::string_view message{};      // PG_DIAG_MESSAGE_PRIMARY
  std::string_view source_file{};  // PG_DIAG_SOURCE_FILE
  std::string_view inner_query{};  // PG_DIAG_INTERNAL_QUERY
  std::string_view context{};      // PG_DIAG_CONTEXT
  std::string_view schema{}, table{}, constraint{};
};

// Appended to the server's message: "; in function audit(): GRANT INSERT ON TABLE audit_log TO relay, or
// ...". Empty: nothing is known. user: the refused user.
std::string site_of(const error_fields& from, std::string_view user);

// The same for a login: a user who may not connect to the database. PostgreSQL names it, in any language.
std::string site_of_login(std::string_view sqlstate, std::string_view words, std::string_view database,
                          std::string_view user);

// Whether the session's own user lacks a right, as opposed to a statement in a user's function.
bool is_denial(const error_fields& from);

// The user's function, such as a trigger's, in which a statement was refused; empty: none.
std::string_view function_of(std::string_view context);

}  // namespace outboxd::pg
