// failure: why an event was not published, whose fault that is, and what follows: the one place that decides
// it.
#pragma once

#include <array>
#include <string_view>

namespace outboxd {

enum class failure {
  unencodable,        // it cannot become a message: a name too long, headers or a body over the limit
  returned,           // basic.return: no queue takes it
  refused,            // a channel error that is about a message, with this one alone in flight
  forbidden,          // the same: the user may not write to its exchange
  topic_forbidden,    // the same: the user may not write to its exchange with its routing key
  login_refused,      // the same, and perhaps the user may write to none
  nacked,             // basic.nack: a queue is full or has failed
  unconfirmed,        // no confirm in time, while others got theirs: a queue hangs
  destination_down,   // returned or refused, and others got through to its exchange and routing key before
  not_sent,           // its exchange or routing key was known to be down
  unreadable,         // PostgreSQL cannot read the row: an invalid encoding, a text beyond its limit
  connection_closed,  // the broker closed or dropped the connection, with this one alone in flight
};

// Each name once; `forbidden` and `topic_forbidden` are called as `refused` is.
inline constexpr std::array all_failures{failure::unencodable,      failure::returned, failure::refused,
                                         failure::login_refused,    failure::nacked,   failure::unconfirmed,
                                         failure::destination_down, failure::not_sent, failure::unreadable,
                                         failure::connection_closed};

enum class blame { event, nobody };

enum class remedy {
  dead_letter,     // dead at once, with the reason
  retry,           // an attempt is counted; waiting with backoff, dead at the cap
  retry_for_ever,  // backpressure: waiting with backoff, no attempt counted, never dead
};

struct judgement {
  blame whose;
  remedy what;
};

judgement judge(failure why);

// For logs and metrics: returned, nacked …; `refused` is that of three.
std::string_view name_of(failure why);

}  // namespace outboxd
