// greeting: what both sides say first: is this AMQP 0-9-1, is the broker able enough, and who we are.
#pragma once

#include <string>
#include <string_view>

#include "amqp/codec.hpp"
#include "amqp/url.hpp"
#include "core/error.hpp"

namespace outboxd::amqp {

inline constexpr std::string_view protocol_header{"AMQP\0\0\x09\x01", 8};

// The first bytes on the line, as many as have come. An error (permanent) names what speaks there if it is
// not AMQP 0-9-1; a broker that speaks another version answers with its own protocol header (section 2.2.4 of
// the protocol).
result<void> check_greeting(std::string_view bytes);

// The broker's offer: version, login, confirms. Permanent error when something that we need is missing.
result<void> check_offer(const amqp_connection_start_t& start);

// Appends connection.start-ok: PLAIN (RFC 4616) and the capabilities that RabbitMQ is to use with us
// (https://www.rabbitmq.com/docs/connections#capabilities).
result<void> append_start_ok(std::string& out, const url& target, std::string_view connection_name);

}  // namespace outboxd::amqp
