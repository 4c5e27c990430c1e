// answer_shape: the expected shape of a statement's answer. The server may have another version, be behind a
// proxy, or be out of step, so every answer is checked before it is read.
#pragma once

#include <limits>
#include <optional>
#include <span>
#include <string>

#include "pg/rows.hpp"

namespace outboxd::pg {

struct cell_shape {
  int bytes = -1;  // negative: any number
  bool may_be_null = false;
};
inline constexpr cell_shape number_cell{.bytes = 8};  // bigint, xid8, timestamptz
inline constexpr cell_shape number_or_null_cell{.bytes = 8, .may_be_null = true};
inline constexpr cell_shape boolean_cell{.bytes = 1};
inline constexpr cell_shape text_cell{};
inline constexpr cell_shape text_or_null_cell{.may_be_null = true};

struct answer_shape {
  std::span<const cell_shape> cells;
  int least_rows = 0;
  int most_rows = std::numeric_limits<int>::max();
};

// Returns how the shape differs, or nullopt.
std::optional<std::string> misfit(const rows& from, const answer_shape& wanted);

// Like misfit, for one row, and for the number of columns.
std::optional<std::string> misfit_of_row(const rows& from, int row, std::span<const cell_shape> cells);
std::optional<std::string> misfit_of_columns(const rows& from, std::size_t wanted);

}  // namespace outboxd::pg
