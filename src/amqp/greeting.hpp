// greeting: what both sides say first: is this AMQP 0-9-1, is the broker able enough, and who we are.
#pragma once

#include <cstdint>
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

// How we log in.
enum class login_by : std::uint8_t {
  plain,     // user and password of the URL
  external,  // our certificate: https://www.rabbitmq.com/docs/authentication#certificate-authentication
};

// The broker's offer: version, login, confirms. Permanent error when something that we need is missing.
result<void> check_offer(const amqp_connection_start_t& start, login_by how);

// What the broker calls itself; empty where it does not say.
struct identity {
  std::string product;  // RabbitMQ
  std::string version;
};
identity identity_of(const amqp_connection_start_t& start);

// Appends connection.start-ok: PLAIN (RFC 4616) or EXTERNAL (RFC 4422), and the capabilities that RabbitMQ is
// to use with us (https://www.rabbitmq.com/docs/connections#capabilities).
result<void> append_start_ok(std::string& out, const url& target, login_by how,
                             std::string_view connection_name);

}  // namespace outboxd::amqp
