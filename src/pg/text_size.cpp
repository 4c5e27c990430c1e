#include "pg/text_size.hpp"

#include <fmt/format.h>

namespace outboxd::pg {

std::string unpacked_size(std::string_view column) {
  return fmt::format(
      "CASE WHEN pg_column_compression({0}) IS NULL THEN pg_column_size({0}) ELSE pg_column_size(ARRAY[{0}]) "
      "END",
      column);
}

std::string size_of_numbers(std::string_view column) {
  return fmt::format(
      // lax would go through each array twice: by ** and by the filter.
      R"(coalesce((SELECT sum(octet_length(n::text))
      FROM jsonb_path_query({}, 'strict $.** ? (@.type() == "number")') AS n), 0)::bigint)",
      column);
}

}  // namespace outboxd::pg
