#include "store/text_size.hpp"

#include <fmt/format.h>

namespace outboxd::store {

std::string unpacked_size(std::string_view column) {
  return fmt::format(
      "CASE WHEN pg_column_compression({0}) IS NULL THEN pg_column_size({0}) ELSE pg_column_size(ARRAY[{0}]) "
      "END",
      column);
}

// Lax mode would visit each array twice, by ** and by the filter. The time of jsonb_path_query is quadratic
// in the number of rows that it returns.
std::string size_of_numbers(std::string_view column, std::int64_t most) {
  return fmt::format(
      R"(CASE WHEN {1} <= {2} THEN coalesce((
      SELECT sum(octet_length(n::text))
      FROM jsonb_array_elements(jsonb_path_query_array({0}, 'strict $.** ? (@.type() == "number")')) AS n), 0)
      ELSE 0 END::bigint)",
      column, unpacked_size(column), most);
}

}  // namespace outboxd::store
