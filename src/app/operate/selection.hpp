// selection: which events a command is about: its selectors, checked, and as a condition in SQL.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "core/glob.hpp"

namespace outboxd::app {

// Values of one kind are alternatives; different kinds have to hold together.
struct selectors {
  std::vector<std::string> ids;
  std::vector<std::string> statuses{};
  std::vector<std::string> event_types;
  std::vector<std::string> aggregates;         // order/42
  std::vector<std::string> aggregate_types{};  // of pauses alone
  std::vector<std::string> codes;              // last_error_code; none: it is null
  std::vector<std::string> exchanges;          // globs, as are the next
  std::vector<std::string> routing_keys;
  std::optional<std::string> since;  // as given; once resolved, a time that PostgreSQL reads
  std::optional<std::string> until;
  bool all = false;

  bool narrowed() const { return !statuses.empty() || narrowed_within_status(); }
  bool narrowed_within_status() const {
    return !ids.empty() || !event_types.empty() || !aggregates.empty() || !aggregate_types.empty() ||
           !codes.empty() || !exchanges.empty() || !routing_keys.empty() || since || until;
  }
};

// The error names the flag, the value and what is allowed.
result<void> check_selectors(const selectors& given);

// For a command that changes what it selects, nothing given must not mean everything.
result<void> require_selectors(const selectors& given, std::string_view command);

enum class event_set {
  dead,
  published,
  unsent,  // pending or waiting
  any,
};
// Which of these has all events of these statuses, and as few others as possible.
event_set set_of(const std::vector<std::string>& statuses);
bool has(event_set which, std::string_view status);
std::string_view name_of(event_set which);

// What --since and --until go by: when a published event was published, when any other was created.
std::string_view time_column(event_set which);

// The selectors as a command line gives them, for people: --event-type order.created --since 2h
std::string words_of(const selectors& given);

// The destination of a row of outbox.event AS e, as far as the row tells: where the event was not taken, else
// where it has been replayed to, else what it names itself, else what it has without a route.
std::string exchange_of_row();
std::string routing_key_of_row();

// A condition on outbox.event AS e, and its parameters $1, $2 … in text format. --since is inclusive, --until
// is not.
struct condition {
  std::string sql;
  std::vector<std::string> parameters;
};
condition condition_of(const selectors& resolved, event_set which);

// For LIKE with its usual escape character, the backslash, in a database whose encoding is UTF8.
std::string like_pattern(const glob& from);

// That this text is matched by one of the globs in $`parameter`, which like_patterns has made.
std::string matches_one_of(std::string_view text, std::size_t parameter);
std::string like_patterns(const std::vector<std::string>& globs);

// The text form of a text[] ("Array Input and Output Syntax").
std::string array_literal(const std::vector<std::string>& values);

}  // namespace outboxd::app
