// refusal: the meaning of the broker's reply codes and texts when it closes a channel or a connection. Only
// this file interprets them.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/confirm.hpp"

namespace outboxd::amqp {

// True if this reply code of a channel.close concerns a published message. These are 311 content-too-large,
// 403 access-refused, 404 not-found and 406 precondition-failed (AMQP 0-9-1 section 1.2; RabbitMQ uses 406
// for a body over its max_message_size).
bool is_about_a_message(std::uint16_t reply_code);

// True if a message may have caused the broker to close the connection, or a channel, with this code. The
// broker uses 501 to 505, 540 and 541 for internal failures (AMQP 0-9-1 section 1.2). 506 resource-error and
// 530 not-allowed concern limits of the broker, and 320 connection-forced its operator.
bool is_a_fault(std::uint16_t reply_code);

// `text`: as sent by the broker. Understands the texts of RabbitMQ 3.8 to 4.3; for other texts, only the code
// is used.
refusal refusal_of(std::uint16_t reply_code, std::string_view text);

}  // namespace outboxd::amqp
