// greeting: the first messages of both sides: protocol version, the broker's capabilities, and the login.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "amqp/codec.hpp"
#include "amqp/url.hpp"
#include "core/error.hpp"

namespace outboxd::amqp {

inline constexpr std::string_view protocol_header{"AMQP\0\0\x09\x01", 8};

// Checks the first bytes from the peer, as many as have arrived. If they are not AMQP 0-9-1, the error
// (permanent) names the protocol; a broker with another version answers with its own protocol header (section
// 2.2.4 of the protocol).
result<void> check_greeting(std::string_view bytes);

// The authentication mechanism.
enum class login_by : std::uint8_t {
  plain,     // PLAIN, with user and password from the URL
  external,  // https://www.rabbitmq.com/docs/authentication#certificate-authentication
};

// Checks the version, mechanisms and confirms that the broker offers. A permanent error names what is
// missing.
result<void> check_offer(const amqp_connection_start_t& start, login_by how);

// The broker's product and version; empty if unknown.
struct identity {
  std::string product;  // for example RabbitMQ
  std::string version;
};
identity identity_of(const amqp_connection_start_t& start);

// Appends connection.start-ok: PLAIN (RFC 4616) or EXTERNAL (RFC 4422), and the client capabilities that
// RabbitMQ should use (https://www.rabbitmq.com/docs/connections#capabilities).
result<void> append_start_ok(std::string& out, const url& target, login_by how,
                             std::string_view connection_name);

}  // namespace outboxd::amqp
