#include "pg/answer_shape.hpp"

#include <fmt/format.h>

namespace outboxd::pg {

std::optional<std::string> misfit_of_row(const rows& from, int row, std::span<const cell_shape> cells) {
  for (int column = 0; column < static_cast<int>(cells.size()); ++column) {
    const cell_shape& wanted = cells[static_cast<std::size_t>(column)];
    if (from.is_null(row, column)) {
      if (!wanted.may_be_null) return fmt::format("a null in column {} of row {}", column + 1, row + 1);
      continue;
    }
    const auto bytes = from.at(row, column).size();
    if (wanted.bytes >= 0 && bytes != static_cast<std::size_t>(wanted.bytes))
      return fmt::format("{} bytes instead of {} in column {} of row {}", bytes, wanted.bytes, column + 1,
                         row + 1);
  }
  return std::nullopt;
}

std::optional<std::string> misfit_of_columns(const rows& from, std::size_t wanted) {
  if (from.columns() == static_cast<int>(wanted)) return std::nullopt;
  return fmt::format("{} columns instead of {}", from.columns(), wanted);
}

std::optional<std::string> misfit(const rows& from, const answer_shape& wanted) {
  if (auto why = misfit_of_columns(from, wanted.cells.size())) return why;
  if (from.size() < wanted.least_rows || from.size() > wanted.most_rows)
    return fmt::format("{} rows instead of {} to {}", from.size(), wanted.least_rows, wanted.most_rows);
  for (int row = 0; row < from.size(); ++row)
    if (auto why = misfit_of_row(from, row, wanted.cells)) return why;
  return std::nullopt;
}

}  // namespace outboxd::pg
