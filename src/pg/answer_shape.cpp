#include "pg/answer_shape.hpp"

#include <fmt/format.h>

#include <array>

#include "pg/relay_statements.hpp"

namespace outboxd::pg {
namespace {

constexpr auto all_event_columns = static_cast<std::size_t>(event_column::behind) + 1;

constexpr std::array<cell_shape, all_event_columns> event_cells() {
  std::array<cell_shape, all_event_columns> out{};
  for (cell_shape& one : out) one.may_be_null = true;
  const auto set = [&](event_column which, cell_shape to) { out.at(static_cast<std::size_t>(which)) = to; };
  set(event_column::id, {.bytes = 16});
  set(event_column::place, {.bytes = 6});
  for (const auto which : {event_column::seq, event_column::tx, event_column::hash, event_column::created_at,
                           event_column::available_at})
    set(which, number_cell);
  for (const auto which :
       {event_column::size, event_column::attempts, event_column::deferrals, event_column::due_in})
    set(which, number_or_null_cell);
  set(event_column::behind, boolean_cell);
  return out;
}

// Of an event that came with its texts.
constexpr std::array texts{event_column::aggregate_type, event_column::aggregate_id, event_column::event_type,
                           event_column::payload, event_column::headers};

std::optional<std::string> misfit_of_row(const rows& from, int row, std::span<const cell_shape> cells) {
  for (int column = 0; column < static_cast<int>(cells.size()); ++column) {
    const cell_shape& wanted = cells[static_cast<std::size_t>(column)];
    if (from.is_null(row, column)) {
      if (!wanted.may_be_null) return fmt::format("a null in column {} of row {}", column + 1, row + 1);
      continue;
    }
    const auto bytes = from.at(row, column).size();
    if (wanted.bytes >= 0 && bytes != static_cast<std::size_t>(wanted.bytes))
      return fmt::format("{} bytes and not {} in column {} of row {}", bytes, wanted.bytes, column + 1,
                         row + 1);
  }
  return std::nullopt;
}

std::optional<std::string> misfit_of_columns(const rows& from, std::size_t wanted) {
  if (from.columns() == static_cast<int>(wanted)) return std::nullopt;
  return fmt::format("{} columns and not {}", from.columns(), wanted);
}

}  // namespace

std::optional<std::string> misfit(const rows& from, const answer_shape& wanted) {
  if (auto why = misfit_of_columns(from, wanted.cells.size())) return why;
  if (from.size() < wanted.least_rows || from.size() > wanted.most_rows)
    return fmt::format("{} rows and not {} to {}", from.size(), wanted.least_rows, wanted.most_rows);
  for (int row = 0; row < from.size(); ++row)
    if (auto why = misfit_of_row(from, row, wanted.cells)) return why;
  return std::nullopt;
}

std::optional<std::string> misfit_of_events(const rows& from, bool with_exceptions) {
  static constexpr auto cells = event_cells();
  const auto columns =
      static_cast<std::size_t>(with_exceptions ? event_column::behind : event_column::head) + 1;
  if (auto why = misfit_of_columns(from, columns)) return why;
  bool heads = true;
  for (int row = 0; row < from.size(); ++row) {
    const bool is_head = from.is_null(row, static_cast<int>(event_column::id));
    if (is_head && (!heads || from.is_null(row, static_cast<int>(event_column::head))))
      return fmt::format("an event without an id in row {}", row + 1);
    heads = is_head;
    if (is_head) continue;
    if (auto why = misfit_of_row(from, row, std::span(cells).first(columns))) return why;
    if (!from.is_null(row, static_cast<int>(event_column::size))) continue;
    for (const event_column one : texts)
      if (from.is_null(row, static_cast<int>(one)))
        return fmt::format("a null in column {} of row {}", static_cast<int>(one) + 1, row + 1);
  }
  return std::nullopt;
}

}  // namespace outboxd::pg
