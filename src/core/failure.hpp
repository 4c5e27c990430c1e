// failure: why an event was not published, and the only place that decides what follows.
#pragma once

#include <array>
#include <string_view>

namespace outboxd {

enum class failure {
  // The event is at fault.
  unencodable,        // it cannot be encoded: a name is too long, or headers or body exceed a limit
  unreadable,         // PostgreSQL cannot read the row: invalid encoding, or a text that is too long
  channel_closed,     // the broker closed the channel while only this message was in flight
  connection_closed,  // the broker closed or dropped the connection while only this message was in flight
  // The destination is at fault.
  returned,         // basic.return: no queue is bound for it
  refused,          // the exchange does not exist, or accepts no messages
  forbidden,        // the user may not write to the exchange
  topic_forbidden,  // the user may not write to the exchange with this routing key
  nacked,           // basic.nack: a queue is full or has failed
  unconfirmed,      // no confirm in time, although other messages were confirmed: a queue hangs
};

// The failures with distinct names: `forbidden` and `topic_forbidden` share the name of `refused`, so they
// are not listed.
inline constexpr std::array all_failures{
    failure::unencodable, failure::unreadable, failure::channel_closed, failure::connection_closed,
    failure::returned,    failure::refused,    failure::nacked,         failure::unconfirmed};

enum class remedy {
  dead_letter,           // the event is dead at once, with the reason
  retry_with_backoff,    // an attempt is counted; retried with backoff, dead after max_attempts
  wait_for_destination,  // waits for its destination; no attempt is counted; dead after retry.give_up_after
};

remedy judge(failure why);

// True if every message to the exchange fails, whatever its routing key.
constexpr bool concerns_exchange(failure why) {
  return why == failure::refused || why == failure::forbidden;
}

// The name in logs, metrics and last_error_code; `refused`, `forbidden` and `topic_forbidden` have the same
// name.
std::string_view name_of(failure why);

}  // namespace outboxd
