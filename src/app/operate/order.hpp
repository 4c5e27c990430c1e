// order: what is to become of which events, or what is to be paused, as the command line or the console asks
// for it, and the words for that.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/operate/selection.hpp"

namespace outboxd::app {

// What `events edit` writes into each event; nothing: it stays as it is.
struct event_edit {
  std::optional<std::string> payload_file;
  std::optional<std::string> headers_file;
  std::optional<std::string> payload;  // from the console, which reads no file
  std::optional<std::string> headers;
  std::optional<std::string> event_type;
  std::optional<std::string> exchange;
  std::optional<std::string> routing_key;
  bool by_route = false;  // exchange and routing key come from routing again
  bool retry = false;     // dead events, which are retried then; else what has not been sent
};

enum class deed : std::uint8_t { retry, discard, replay, cancel, postpone, edit, pause, resume };

struct order {
  deed what = deed::retry;
  selectors which{};                      // of a pause only types, destinations or all
  std::optional<std::string> reason{};    // for outbox.audit
  std::optional<std::int64_t> rate{};     // of a replay: most events in a second
  std::optional<std::string> exchange{};  // of a replay: instead of the events' own, also empty
  std::optional<std::string> routing_key{};
  std::optional<std::string> until{};  // a time, or how long: postponed events wait, and a pause lasts
  event_edit edit{};

  bool changes_events() const { return what != deed::pause && what != deed::resume; }
  event_set from() const;   // what it selects from
  bool needs_yes() const {  // for many events
    return changes_events() &&
           (!which.narrowed_within_status() || (what != deed::retry && what != deed::discard));
  }
};

inline constexpr std::int64_t highest_rate = 1'000'000;

// A reason for outbox.audit is words, and fits into its row. The error names the flag.
result<void> check_reason(const std::optional<std::string>& given);

// The error names the flag and what is allowed. `command`: as it was called.
result<void> check_order(const order& given, std::string_view command);
result<void> check_order(const order& given);

// The commands that change an event of this status.
std::string_view possible_with(std::string_view status);

struct order_words {
  std::string_view name;      // in outbox.audit, see sql/objects/operator.sql, and for the console
  std::string_view command;   // on the command line
  std::string_view function;  // in SQL
  std::string_view done;      // of the events
};
order_words words_of(deed what);

// "1 event", "12 events"
std::string events(std::int64_t count);

// The selectors and what else was given, but for the reason: as outbox.audit keeps it.
std::string words_of(const order& given);

// As it would be typed, with the reason: outboxd events retry --error-code returned --reason 'ticket 4711'.
// --yes is there where it may be needed.
std::string command_line_of(const order& given);

}  // namespace outboxd::app
