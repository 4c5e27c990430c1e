// event_listing: events as an operator sees them, without payloads and header values, and the printing of
// lists.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/operate/operator_session.hpp"

namespace outboxd::app {

// How much of an event is read. An event that PostgreSQL cannot read or convert to UTF-8 is dead for that
// reason, and is still listed.
enum class part_read : std::uint8_t {
  whole,    // everything except its payload and the values of its headers
  reason,   // without its names and headers
  numbers,  // also without the failure reason
};

// SQL for a JSON object of that part of outbox.event AS e, without the closing bracket. Fields that are not
// read are null, and then `unreadable` is true.
std::string json_of_event(part_read how);

struct read_in_part {
  pg::rows rows;
  part_read how;
};
// Calls `read` with smaller and smaller parts until PostgreSQL can read one.
outcome<read_in_part> read_what_can_be(const std::function<outcome<pg::rows>(part_read how)>& read);

struct listing {
  std::vector<std::string> titles;
  struct row {
    std::string json;
    std::vector<std::string> cells;  // unescaped; printing escapes them
  };
  std::vector<row> rows;
  bool more = false;           // more events match than are listed
  std::size_t unreadable = 0;  // how many of these events are shown only in part

  // The first column is the JSON, the others are the cells.
  void add(const pg::rows& found);
};

// The first `limit` selected events in seq order. An unreadable part of an event hides no other event.
outcome<listing> read_listing(operator_session& session, const selectors& resolved, event_set of, int limit);

// Prints a table with a line for each row. If the table is wider than the terminal, each row is printed as
// two lines, truncated to the terminal's width. Rows shown only in part are reported on standard error.
void print_table(const listing& what);
void print_table(std::vector<std::vector<std::string>> rows);  // the titles, then the rows

// The lines of the table. `columns`: the terminal's width; nullopt without a terminal.
std::vector<std::string> table_lines(std::vector<std::vector<std::string>> rows,
                                     std::optional<std::size_t> columns);

// Prints a JSON array with one row per line.
void print_json(const listing& what);

// Prints the value on a line, or nothing if there is no value.
void print_field(std::string_view title, const std::optional<std::string>& value);

}  // namespace outboxd::app
