// broker_remedy: what to do about what RabbitMQ refuses, as commands of its administrator.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "amqp/url.hpp"
#include "core/text.hpp"
#include "http/url.hpp"

namespace outboxd::app::check {

// words: of the refused login, or of one connection too many.
std::string login_remedy(const std::string& words, const amqp::url& target);

// For all exchanges at once, because rabbitmqctl replaces the permissions of before.
std::string permission_remedy(const amqp::url& target, const std::vector<std::string>& writes,
                              const std::vector<std::string>& declares);

// A durable topic exchange. api: RabbitMQ's management API.
std::string missing_exchange_remedy(const http::url& api, const std::string& vhost,
                                    const std::string& exchange);

// Against an alternate exchange. policy: that gives it; empty: an argument of the exchange.
std::string alternate_remedy(const http::url& api, const std::string& vhost, const std::string& exchange,
                             const std::string& policy);

// A dead letter exchange for a queue. policy: that applies to it now; empty: none.
std::string dead_letters_remedy(const std::string& vhost, const std::string& queue,
                                const std::string& policy);

}  // namespace outboxd::app::check
