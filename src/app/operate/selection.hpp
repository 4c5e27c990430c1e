// selection: a command's selectors, which select its events: their validation and their SQL condition.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "core/glob.hpp"

namespace outboxd::app {

// Values of one kind are alternatives; an event must match every given kind.
struct selectors {
  std::vector<std::string> ids;
  std::vector<std::string> statuses{};
  std::vector<std::string> event_types;
  std::vector<std::string> aggregates;         // order/42
  std::vector<std::string> aggregate_types{};  // only for pauses
  std::vector<std::string> codes;              // last_error_code; `none` matches null
  std::vector<std::string> exchanges;          // globs, like routing_keys
  std::vector<std::string> routing_keys;
  std::optional<std::string> since;  // a time or duration as given; after resolving, a time that PostgreSQL
                                     // reads
  std::optional<std::string> until;
  bool all = false;

  bool narrowed() const { return !statuses.empty() || narrowed_within_status(); }
  bool narrowed_within_status() const {
    return !ids.empty() || !event_types.empty() || !aggregates.empty() || !aggregate_types.empty() ||
           !codes.empty() || !exchanges.empty() || !routing_keys.empty() || since || until;
  }
};

// The error names the flag, the value and the allowed values.
result<void> check_selectors(const selectors& given);

// Refuses empty selectors: a command that changes events must not take them for all events.
result<void> require_selectors(const selectors& given, std::string_view command);

enum class event_set {
  dead,
  published,
  unsent,  // pending or waiting
  any,
};
// The smallest set that contains all events of these statuses.
event_set set_of(const std::vector<std::string>& statuses);
bool has(event_set which, std::string_view status);
std::string_view name_of(event_set which);

// The column that --since and --until compare: the publication time of published events, else the creation
// time.
std::string_view time_column(event_set which);

// The selectors in the form of command-line flags, for people: --event-type order.created --since 2h
std::string words_of(const selectors& given);

// The destination of a row of outbox.event AS e, as far as the row shows it. The first known value is used:
// the destination that refused the event, that of its replay, that in the row, the default without a route.
std::string exchange_of_row();
std::string routing_key_of_row();

// A condition on outbox.event AS e, and its parameters $1, $2 … in text format. --since is inclusive, --until
// exclusive.
struct condition {
  std::string sql;
  std::vector<std::string> parameters;
};
condition condition_of(const selectors& resolved, event_set which);

// A pattern for LIKE with its default escape character, the backslash, in a database with encoding UTF8.
std::string like_pattern(const glob& from);

// SQL: true if one of the globs in $`parameter` matches this text. like_patterns() creates that parameter.
std::string matches_one_of(std::string_view text, std::size_t parameter);
std::string like_patterns(const std::vector<std::string>& globs);

// The text form of a text[] ("Array Input and Output Syntax").
std::string array_literal(const std::vector<std::string>& values);

}  // namespace outboxd::app
