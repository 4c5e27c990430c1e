// order: a change of events, or a pause, as requested on the command line or in the console, and its wording.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/operate/selection.hpp"

namespace outboxd::app {

// The fields that `events edit` writes into each event. An empty field stays as it is.
struct event_edit {
  std::optional<std::string> payload_file;
  std::optional<std::string> headers_file;
  std::optional<std::string> payload;  // from the console, which reads no file
  std::optional<std::string> headers;
  std::optional<std::string> event_type;
  std::optional<std::string> exchange;
  std::optional<std::string> routing_key;
  bool by_route = false;  // removes exchange and routing key, so that the route decides
  bool retry = false;     // edits and retries dead events, instead of unsent ones
};

enum class deed : std::uint8_t { retry, discard, replay, cancel, postpone, edit, pause, resume };

struct order {
  deed what = deed::retry;
  selectors which{};                      // a pause uses only types, destinations or all
  std::optional<std::string> reason{};    // for outbox.audit
  std::optional<std::int64_t> rate{};     // replay: the most events per second
  std::optional<std::string> exchange{};  // replay: used instead of the events' own; may be empty
  std::optional<std::string> routing_key{};
  std::optional<std::string> until{};  // the end of a postponement or a pause: a time or a duration
  event_edit edit{};

  bool changes_events() const { return what != deed::pause && what != deed::resume; }
  event_set from() const;   // the set of events it selects from
  bool needs_yes() const {  // true if changing many events needs --yes
    return changes_events() &&
           (!which.narrowed_within_status() || (what != deed::retry && what != deed::discard));
  }
};

inline constexpr std::int64_t highest_rate = 1'000'000;

// Checks that the reason is text that fits into a row of outbox.audit. The error names the flag.
result<void> check_reason(const std::optional<std::string>& given);

// The error names the flag and the allowed values. `command`: the command as it was called.
result<void> check_order(const order& given, std::string_view command);
result<void> check_order(const order& given);

// The commands that can change an event of this status.
std::string_view possible_with(std::string_view status);

struct order_words {
  std::string_view name;      // in outbox.audit (see sql/objects/operator.sql) and in the console
  std::string_view command;   // on the command line
  std::string_view function;  // in SQL
  std::string_view done;      // the past participle, said of the events
};
order_words words_of(deed what);

// "1 event", "12 events"
std::string events(std::int64_t count);

// The selectors and the other flags except the reason, as stored in outbox.audit.
std::string words_of(const order& given);

// The order as a command line with its reason: outboxd events retry --error-code returned --reason 'ticket
// 4711'. Includes --yes if the command may need it.
std::string command_line_of(const order& given);

}  // namespace outboxd::app
