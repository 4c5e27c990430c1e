// event_listing: events as an operator sees them, without their payloads and header values.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/operator_session.hpp"

namespace outboxd::app {

struct event_listing {
  pg::rows rows;  // one more than are shown, if there are more
  event_set of;
  int shown;
  bool more;
};

// The first `limit` of the selected events in seq order.
outcome<event_listing> read_listing(operator_session& session, const selectors& resolved, event_set of,
                                    int limit);

// A table, one line for each event. Where that does not fit a terminal, two lines for each, cut to its width.
void print_table(const event_listing& events);

// Any table: the titles, then the rows.
void print_rows(std::vector<std::vector<std::string>> rows);

// Its lines. `rows`: the titles, then the events; `columns`: of the terminal, none if it is none.
std::vector<std::string> table_lines(std::vector<std::vector<std::string>> rows,
                                     std::optional<std::size_t> columns);

// The objects of a JSON array, one on a line.
void print_json(const event_listing& events);

// What a terminal would obey is escaped: \n, \x1b.
std::string printable(std::string_view text);

// A JSON object in SQL of what may be shown of outbox.event AS e, without its closing bracket.
std::string_view json_of_event();

}  // namespace outboxd::app
