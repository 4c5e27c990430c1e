// broker_headers: the names of headers that RabbitMQ writes itself and that outboxd never publishes.
#pragma once

#include <string_view>

namespace outboxd {

// True if RabbitMQ writes headers of this name itself. RabbitMQ reads some of them back and expects the AMQP
// types that it wrote, not all of which JSON has. For example, with an x-death of [1,2], a queue of RabbitMQ
// 3.10 crashes each time the message expires, until RabbitMQ stops restarting the queue. Names are compared
// byte by byte, as in RabbitMQ. CC, BCC and headers with which a publisher instructs RabbitMQ (x-delay,
// x-stream-filter-value, x-deduplication-header) are not broker headers.
//
// Source: https://www.rabbitmq.com/docs/dlx, and RabbitMQ's code from 3.10 to 4.3; broker_headers.cpp names
// the part of RabbitMQ that writes each header.
bool is_broker_header(std::string_view name);

}  // namespace outboxd
