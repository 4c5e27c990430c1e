// event_listing: events as an operator sees them, without their payloads and header values, and how lists of
// them and of other things are printed.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/operate/operator_session.hpp"

namespace outboxd::app {

// How much of an event is read. One that PostgreSQL cannot read, or not say in UTF-8, is dead for that, and
// to be seen all the same.
enum class part_read : std::uint8_t {
  whole,    // all but its payload and the values of its headers
  reason,   // neither its names nor its headers
  numbers,  // nor why it failed
};

// A JSON object in SQL of that part of outbox.event AS e, without its closing bracket. What is not read is
// null, and then `unreadable` is true.
std::string json_of_event(part_read how);

struct read_in_part {
  pg::rows rows;
  part_read how;
};
// Reads less and less, until PostgreSQL can.
outcome<read_in_part> read_what_can_be(const std::function<outcome<pg::rows>(part_read how)>& read);

struct listing {
  std::vector<std::string> titles;
  struct row {
    std::string json;
    std::vector<std::string> cells;  // as they are; printing escapes them
  };
  std::vector<row> rows;
  bool more = false;           // there are others
  std::size_t unreadable = 0;  // of these events: they are not shown whole

  // JSON is in the first column, the cells in the others.
  void add(const pg::rows& found);
};

// The first `limit` of the selected events in seq order. What cannot be read of one of them hides no other.
outcome<listing> read_listing(operator_session& session, const selectors& resolved, event_set of, int limit);

// A table, one line for each row. Where that does not fit a terminal, two lines for each, cut to its width.
// What is not there whole is said on standard error.
void print_table(const listing& what);
void print_table(std::vector<std::vector<std::string>> rows);  // the titles, then the rows

// Its lines. `columns`: of the terminal, none if it is none.
std::vector<std::string> table_lines(std::vector<std::vector<std::string>> rows,
                                     std::optional<std::size_t> columns);

// A JSON array, one row on a line.
void print_json(const listing& what);

// What is known of one thing, one value on a line; not there: no line.
void print_field(std::string_view title, const std::optional<std::string>& value);

}  // namespace outboxd::app
