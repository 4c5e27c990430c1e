#include "store/event_shape.hpp"

#include <fmt/format.h>

#include <array>

#include "pg/answer_shape.hpp"
#include "store/relay_statements.hpp"

namespace outboxd::store {
namespace {

constexpr auto all_event_columns = static_cast<std::size_t>(event_column::behind) + 1;

constexpr std::array<pg::cell_shape, all_event_columns> event_cells() {
  std::array<pg::cell_shape, all_event_columns> out{};
  for (pg::cell_shape& one : out) one.may_be_null = true;
  const auto set = [&](event_column which, pg::cell_shape to) {
    out.at(static_cast<std::size_t>(which)) = to;
  };
  set(event_column::id, {.bytes = 16});
  set(event_column::place, {.bytes = 6});
  for (const auto which : {event_column::seq, event_column::tx, event_column::hash, event_column::created_at,
                           event_column::available_at})
    set(which, pg::number_cell);
  for (const auto which :
       {event_column::size, event_column::attempts, event_column::deferrals, event_column::due_in})
    set(which, pg::number_or_null_cell);
  set(event_column::behind, pg::boolean_cell);
  return out;
}

// Of an event that came with its texts.
constexpr std::array texts{event_column::aggregate_type, event_column::aggregate_id, event_column::event_type,
                           event_column::payload, event_column::headers};

}  // namespace

std::optional<std::string> misfit_of_events(const pg::rows& from, bool with_exceptions) {
  static constexpr auto cells = event_cells();
  const auto columns =
      static_cast<std::size_t>(with_exceptions ? event_column::behind : event_column::head) + 1;
  if (auto why = pg::misfit_of_columns(from, columns)) return why;
  bool heads = true;
  for (int row = 0; row < from.size(); ++row) {
    const bool is_head = from.is_null(row, static_cast<int>(event_column::id));
    if (is_head && (!heads || from.is_null(row, static_cast<int>(event_column::head))))
      return fmt::format("an event without an id in row {}", row + 1);
    heads = is_head;
    if (is_head) continue;
    if (auto why = pg::misfit_of_row(from, row, std::span(cells).first(columns))) return why;
    if (!from.is_null(row, static_cast<int>(event_column::size))) continue;
    for (const event_column one : texts)
      if (from.is_null(row, static_cast<int>(one)))
        return fmt::format("a null in column {} of row {}", static_cast<int>(one) + 1, row + 1);
  }
  return std::nullopt;
}

}  // namespace outboxd::store
