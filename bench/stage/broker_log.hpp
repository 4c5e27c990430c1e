// broker_log: empties the log of RabbitMQ's quorum queues before a measurement.
#pragma once

#include "stage/setup.hpp"

namespace outboxd::bench {

// All quorum queues of a broker share one log. When it has grown to 512 MB, after about 700,000 messages, a
// new log is started, and the messages of the old log are written again, into files per queue; meanwhile, a
// message costs the broker a quarter more CPU. Whether this happens during a round is random, unless each
// round starts with a new log. Returns when the old log has been processed. Does nothing on servers that are
// not our own. Throws std::runtime_error if rabbitmqctl fails or takes longer than a minute.
//
// https://www.rabbitmq.com/quorum-queues.html#resource-use
void empty_broker_log(const setup& on);

}  // namespace outboxd::bench
