// failure: why an event was not published, and what follows: the one place that decides it.
#pragma once

#include <array>
#include <string_view>

namespace outboxd {

enum class failure {
  // The event's own.
  unencodable,        // it cannot become a message: a name too long, headers or a body over the limit
  unreadable,         // PostgreSQL cannot read the row: an invalid encoding, a text beyond its limit
  channel_closed,     // the broker closed the channel over its message, with this one alone in flight
  connection_closed,  // the broker closed or dropped the connection, with this one alone in flight
  // The destination's.
  returned,         // basic.return: no queue takes it
  refused,          // the exchange does not exist, or accepts no messages
  forbidden,        // the user may not write to its exchange
  topic_forbidden,  // the user may not write to its exchange with its routing key
  nacked,           // basic.nack: a queue is full or has failed
  unconfirmed,      // no confirm in time, while others got theirs: a queue hangs
};

// Each name once; `forbidden` and `topic_forbidden` are called as `refused` is.
inline constexpr std::array all_failures{
    failure::unencodable, failure::unreadable, failure::channel_closed, failure::connection_closed,
    failure::returned,    failure::refused,    failure::nacked,         failure::unconfirmed};

enum class remedy {
  dead_letter,  // dead at once, with the reason
  retry,        // an attempt is counted; waiting with backoff, dead at the cap
  wait,         // for its destination: no attempt is counted; dead after retry.give_up_after
};

remedy judge(failure why);

// All messages for the exchange fare alike, whatever their routing keys.
constexpr bool concerns_exchange(failure why) {
  return why == failure::refused || why == failure::forbidden;
}

// For logs, metrics and last_error_code; `refused` is the name of three.
std::string_view name_of(failure why);

}  // namespace outboxd
