// failure: why an event was not published, whose fault that is, and what follows: the one place that decides
// it.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace outboxd {

enum class failure {
  unencodable,        // it cannot become a message: a name too long, headers or a body over the limit
  returned,           // basic.return: no queue takes it
  refused,            // a channel error that is about a message, with this one alone in flight
  forbidden,          // the same with 403: the user may not write to its exchange
  login_refused,      // the same, and perhaps the user may write to none
  nacked,             // basic.nack: a queue is full or has failed
  unconfirmed,        // no confirm in time, while others got theirs: a queue hangs
  destination_down,   // returned or refused, and others got through to its exchange and routing key before
  not_sent,           // its exchange or routing key was known to be down
  unreadable,         // PostgreSQL cannot read the row: an invalid encoding, a text beyond its limit
  connection_closed,  // the broker closed or dropped the connection, with this one alone in flight
};

// Each name once; `forbidden` is called as `refused` is.
inline constexpr std::array all_failures{failure::unencodable,      failure::returned, failure::refused,
                                         failure::login_refused,    failure::nacked,   failure::unconfirmed,
                                         failure::destination_down, failure::not_sent, failure::unreadable,
                                         failure::connection_closed};

enum class blame { event, nobody };

enum class remedy {
  bury,            // dead at once, with the reason
  retry,           // an attempt is counted; waiting with backoff, dead at the cap
  retry_for_ever,  // backpressure: waiting with backoff, no attempt counted, never dead
};

struct judgement {
  blame whose;
  remedy what;
};

judgement judge(failure why);

// For logs and metrics: returned, nacked …; `refused` is that of two.
std::string_view name_of(failure why);

// The reason of an event that was not sent because its exchange is down, and of one whose routing key is. A
// later leader knows by it what the event waits for.
inline constexpr std::string_view exchange_not_sent = "not sent: its exchange has stopped working";
inline constexpr std::string_view routing_key_not_sent = "not sent: its routing key has stopped working";

// Is this reply code of a channel.close about a message that was published? 311 content-too-large, 403
// access-refused, 404 not-found, 406 precondition-failed (AMQP 0-9-1 section 1.2; RabbitMQ gives 406 for a
// body over its max_message_size).
bool is_about_a_message(std::uint16_t reply_code);

// Does this reply, a code with the broker's words, say that the exchange is not there (404), or that the user
// may not write to it (403)? Then all messages for it fare alike.
bool is_about_an_exchange(std::string_view reply);

// May a message have made the broker close the connection, or a channel, with this code? 501 to 505, 540 and
// 541 are what it gives when something inside of it fails (AMQP 0-9-1 section 1.2). 506 resource-error and
// 530 not-allowed are about limits of the broker, 320 connection-forced about its operator.
bool is_a_fault(std::uint16_t reply_code);

}  // namespace outboxd
