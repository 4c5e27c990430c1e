// failure: why an event was not published, whose fault that is, and what follows: the one place that decides it.
#pragma once

#include <cstdint>
#include <string_view>

namespace outboxd {

enum class failure {
  unencodable,         // it cannot become a message: a name too long, headers or a body over the limit
  returned,            // basic.return: no queue takes it
  refused,             // a channel error that is about a message, with this one alone in flight
  nacked,              // basic.nack: a queue is full or has failed
  unconfirmed,         // no confirm in time, while others got theirs: a queue hangs
  unreadable,          // PostgreSQL cannot read the row: an invalid encoding, a text beyond its limit
  channel_closed,      // the same channel error, with several in flight
  broker_unavailable,  // connection lost, refused or blocked, confirm overdue, channel error about no message
  outbox_unavailable,  // PostgreSQL lost, read-only or shutting down
};

enum class blame { event, nobody, unknown, broker, database };

enum class remedy {
  bury,            // dead at once, with the reason
  retry,           // an attempt is counted; waiting with backoff, dead at the cap
  retry_for_ever,  // backpressure: waiting with backoff, no attempt counted, never dead
  isolate,         // sent again one at a time, until it shows which one it was
  give_back,       // sent again, here or by the next leader; no attempt counted
};

struct judgement {
  blame whose;
  remedy what;
};

judgement judge(failure why);

// For logs and metrics: returned, nacked …
std::string_view name_of(failure why);

// Is this reply code of a channel.close about a message that was published? Then failure::refused or channel_closed,
// else failure::broker_unavailable. 311 content-too-large, 403 access-refused, 404 not-found, 406 precondition-failed
// (AMQP 0-9-1 section 1.2; RabbitMQ gives 406 for a body over its max_message_size).
bool is_about_a_message(std::uint16_t reply_code);

}  // namespace outboxd
