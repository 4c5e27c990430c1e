// made_rows: what PostgreSQL could have answered, without one.
#pragma once

#include <libpq-fe.h>

#include <optional>
#include <string>
#include <vector>

#include "pg/rows.hpp"

namespace outboxd::test {

using row_of_fields = std::vector<std::optional<std::string>>;

// In binary format, as the relay asks for it. An empty list of rows has no columns either.
inline pg::rows made_rows(const std::vector<row_of_fields>& from) {
  PGresult* const made = PQmakeEmptyPGresult(nullptr, PGRES_TUPLES_OK);
  const std::size_t columns = from.empty() ? 0 : from.front().size();
  std::vector<std::string> names(columns, "c");
  std::vector<PGresAttDesc> described;
  for (std::string& name : names) described.push_back({name.data(), 0, 0, 1, 0, -1, -1});
  if (columns > 0) PQsetResultAttrs(made, static_cast<int>(columns), described.data());
  for (std::size_t row = 0; row < from.size(); ++row) {
    for (std::size_t column = 0; column < columns; ++column) {
      std::string value = from[row][column].value_or("");
      PQsetvalue(made, static_cast<int>(row), static_cast<int>(column),
                 from[row][column] ? value.data() : nullptr,
                 from[row][column] ? static_cast<int>(value.size()) : -1);
    }
  }
  return pg::rows(made);
}

}  // namespace outboxd::test
