// error_fields_of: the fields of an error or a notice in libpq.
#pragma once

#include <libpq-fe.h>

#include "pg/refusal_site.hpp"

namespace outboxd::pg {

inline std::string_view field(const PGresult* of, int code) {
  const char* text = PQresultErrorField(of, code);
  return text != nullptr ? text : "";
}

// The fields are views into the result.
inline error_fields fields_of(const PGresult* from) {
  return {.sqlstate = field(from, PG_DIAG_SQLSTATE),
          .message = field(from, PG_DIAG_MESSAGE_PRIMARY),
          .source_file = field(from, PG_DIAG_SOURCE_FILE),
          .inner_query = field(from, PG_DIAG_INTERNAL_QUERY),
          .context = field(from, PG_DIAG_CONTEXT),
          .schema = field(from, PG_DIAG_SCHEMA_NAME),
          .table = field(from, PG_DIAG_TABLE_NAME),
          .constraint = field(from, PG_DIAG_CONSTRAINT_NAME)};
}

}  // namespace outboxd::pg
