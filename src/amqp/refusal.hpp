// refusal: the meaning of the broker's reply codes and texts when it closes a channel or a connection. Only
// this file reads them.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/confirm.hpp"

namespace outboxd::amqp {

// Is this reply code of a channel.close about a message that was published? 311 content-too-large, 403
// access-refused, 404 not-found, 406 precondition-failed (AMQP 0-9-1 section 1.2; RabbitMQ gives 406 for a
// body over its max_message_size).
bool is_about_a_message(std::uint16_t reply_code);

// May a message have made the broker close the connection, or a channel, with this code? It gives 501 to 505,
// 540 and 541 when something inside it fails (AMQP 0-9-1 section 1.2). 506 resource-error and 530 not-allowed
// are about limits of the broker, 320 connection-forced about its operator.
bool is_a_fault(std::uint16_t reply_code);

// `text`: as the broker sent it. The texts of RabbitMQ 3.8 to 4.3 are understood; of others, only the code is
// used.
refusal refusal_of(std::uint16_t reply_code, std::string_view text);

}  // namespace outboxd::amqp
