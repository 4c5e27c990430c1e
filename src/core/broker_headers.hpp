// broker_headers: the names of the headers that RabbitMQ itself writes, and that no message of ours has.
#pragma once

#include <string_view>

namespace outboxd {

// True if RabbitMQ writes headers of this name itself. It reads some of them again, and expects the AMQP
// types that it has written; JSON does not have them all. Over an x-death such as [1,2], a queue of RabbitMQ
// 3.10 crashes each time that the message expires, until RabbitMQ gives the queue up. Names are compared byte
// by byte, as RabbitMQ does it. CC, BCC and headers by which a publisher tells RabbitMQ something (x-delay,
// x-stream-filter-value, x-deduplication-header) are not the broker's own.
//
// Source: https://www.rabbitmq.com/docs/dlx, and RabbitMQ's code from 3.10 to 4.3; broker_headers.cpp says
// which part of RabbitMQ writes which header.
bool is_broker_header(std::string_view name);

}  // namespace outboxd
