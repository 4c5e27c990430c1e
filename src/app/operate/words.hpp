// words: how each change of events is called: on the command line, in outbox.audit, in SQL, to people.
#pragma once

#include <string>
#include <string_view>

#include "app/operate/order.hpp"

namespace outboxd::app {

struct change_words {
  std::string_view command;
  std::string_view audited;  // as what, see sql/objects/operator.sql
  std::string_view function;
  std::string_view done;
  event_set from;
};
change_words words_of(change what);

// "1 event", "12 events"
std::string events(std::int64_t count);

// The selectors and what else was given, but for the reason: as outbox.audit keeps it.
std::string words_of_order(const change_order& given);
std::string words_of_order(const pause_order& given);

// As it would be typed, with the reason: outboxd dead retry --error-code returned --reason 'ticket 4711'.
// --yes is there where it may be needed.
std::string command_line_of(change what, const change_order& given);
std::string command_line_of(std::string_view command, const pause_order& given);

}  // namespace outboxd::app
