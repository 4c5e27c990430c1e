// broker_log: the log of RabbitMQ's quorum queues, emptied before what is measured.
#pragma once

#include "stage/setup.hpp"

namespace outboxd::bench {

// All quorum queues of a broker write one log. When it has grown to 512 MB, after some 700,000 messages, a
// new one is begun, and the messages of the old one are written once more, into files of their queue: for as
// long, a message costs the broker a quarter more CPU. Whether a round meets that is chance, unless each
// begins with a new log: then none does before the 512 MB. Returns when the old one is dealt with. On servers
// that are not our own it does nothing. Throws std::runtime_error when rabbitmqctl fails, or it takes longer
// than a minute.
//
// https://www.rabbitmq.com/quorum-queues.html#resource-use
void empty_broker_log(const setup& on);

}  // namespace outboxd::bench
