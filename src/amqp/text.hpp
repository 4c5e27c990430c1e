// text: words from elsewhere (a broker, a row) made fit for an error message.
#pragma once

#include <string>
#include <string_view>

namespace outboxd::amqp {

// The text with control characters replaced by '?', cut at a UTF-8 boundary to `max_bytes`, with "..." when
// cut.
std::string printable(std::string_view text, std::size_t max_bytes = 255);

}  // namespace outboxd::amqp
