// broker_remedy: remedies for errors from RabbitMQ, as commands for its administrator.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "amqp/url.hpp"
#include "core/text.hpp"
#include "http/url.hpp"

namespace outboxd::app::check {

// words: the message of the refused login, or of the connection that exceeded a limit.
std::string login_remedy(const std::string& words, const amqp::url& target);

// Grants permissions for all exchanges at once, because rabbitmqctl replaces earlier permissions.
std::string permission_remedy(const amqp::url& target, const std::vector<std::string>& writes,
                              const std::vector<std::string>& declares);

// Declares a durable topic exchange. api: the URL of RabbitMQ's management API.
std::string missing_exchange_remedy(const http::url& api, const std::string& vhost,
                                    const std::string& exchange);

// Removes an alternate exchange. policy: the policy that sets it; empty: an argument of the exchange.
std::string alternate_remedy(const http::url& api, const std::string& vhost, const std::string& exchange,
                             const std::string& policy);

// Sets a dead letter exchange for a queue. policy: the policy that applies now; empty: none.
std::string dead_letters_remedy(const std::string& vhost, const std::string& queue,
                                const std::string& policy);

}  // namespace outboxd::app::check
