// core_broker_headers_test: which names of headers are RabbitMQ's own, and which are left to the event.
#include "core/broker_headers.hpp"

#include <doctest/doctest.h>

#include <string>

namespace core_broker_headers_test {

TEST_CASE("the headers that RabbitMQ itself writes are the broker's own") {
  for (const std::string name : {
           "x-death",
           "x-first-death-reason",
           "x-first-death-queue",
           "x-first-death-exchange",
           "x-last-death-reason",
           "x-last-death-queue",
           "x-last-death-exchange",
           "x-received-from",
           "x-shovelled",
           "x-shovelled-timestamp",
           "x-invalid-headers",
           "x-delivery-count",
           "x-acquired-count",
           "x-stream-offset",
           "x-mqtt-publish-qos",
           "x-mqtt-dup",
           "x-message-id-type",
           "x-correlation-id-type",
           "x-amqp-1.0-properties",
           "x-amqp-1.0-app-properties",
           "x-amqp-1.0-message-annotations",
           "x-amqp-1.0-footer",
           "x-basic-type",
           "x-basic-priority",
           "x-basic-expiration",
           "x-basic-delivery-mode",
           "x-opt-deaths",
           "x-opt-rabbitmq-received-time",
           "x-opt-rabbitmq-sent-time",
           "x-opt-mqtt-client-id",
       }) {
    CAPTURE(name);
    CHECK(outboxd::is_broker_header(name));
  }
}

TEST_CASE("headers that tell RabbitMQ what to do, and all others, are not the broker's own") {
  for (const std::string name : {
           "",
           "CC",
           "BCC",
           "x-delay",
           "x-cc",
           "x-match",
           "x-stream-filter-value",
           "x-deduplication-header",
           "x-cache-ttl",
           "x-recent-history-no-store",
           "x-reply-to-topic",
           "x-correlation-id",
           "x-message-id",
           "x-routing-key",
           "x-exchange",
           "x-original-exchange",
           "x-routed-by",
           "x-opt-partition-key",
           "timestamp_in_ms",
           "traceparent",
           // RabbitMQ compares names byte by byte.
           "X-Death",
           "x-Death",
           "x-death ",
           "x-deaths",
           "x-deat",
           "death",
           "my-x-death",
           "x-delivery-counts",
       }) {
    CAPTURE(name);
    CHECK_FALSE(outboxd::is_broker_header(name));
  }
}

}  // namespace core_broker_headers_test
