// broker_headers: each name, with the part of RabbitMQ that writes it.
#include "core/broker_headers.hpp"

#include <algorithm>
#include <array>

namespace outboxd {
namespace {

constexpr std::array<std::string_view, 14> names{
    "x-death",                // dead lettering: rabbit_dead_letter, mc_compat
    "x-delivery-count",       // quorum queues
    "x-acquired-count",       // quorum queues, from 4.3 on
    "x-stream-offset",        // streams
    "x-received-from",        // federation
    "x-shovelled",            // shovel: rabbit_shovel_util
    "x-shovelled-timestamp",  // shovel
    "x-invalid-headers",      // rabbit_basic moves headers there that it cannot parse
    "x-mqtt-publish-qos",     // MQTT: rabbit_mqtt_processor
    "x-mqtt-dup",             // MQTT
    "x-message-id-type",      // streams: rabbit_msg_record
    "x-correlation-id-type",  // streams: rabbit_msg_record
    "x-opt-mqtt-client-id",   // MQTT, from 4.2 on
    "x-opt-deaths",           // dead lettering in AMQP 1.0 format: mc_amqp
};

constexpr std::array<std::string_view, 5> prefixes{
    "x-first-death-",   // dead lettering
    "x-last-death-",    // dead lettering, from 3.13 on
    "x-amqp-1.0-",      // sections of an AMQP 1.0 message as bytes: mc_amqpl
    "x-basic-",         // message properties in a stream: mc_amqpl
    "x-opt-rabbitmq-",  // timestamps of receipt and delivery: message interceptors, from 3.13 on
};

}  // namespace

bool is_broker_header(std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end() ||
         std::any_of(prefixes.begin(), prefixes.end(),
                     [name](std::string_view prefix) { return name.starts_with(prefix); });
}

}  // namespace outboxd
