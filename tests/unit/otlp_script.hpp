// otlp_script: an event of a sampled trace for tests of its span.
#pragma once

#include <chrono>
#include <string>

#include "core/span_context.hpp"
#include "otlp/span.hpp"

namespace outboxd::test {

struct traced_event {
  traced_event() {
    for (std::uint8_t i = 0; i < 16; ++i) what.id.bytes[i] = static_cast<std::uint8_t>(i * 0x11U);
    what.seq = 42;
    what.aggregate_type = "order";
    what.aggregate_id = "7";
    what.event_type = "order.created";
    what.headers = headers;
    what.attempts = 2;
    what.created_at = timestamp(std::chrono::seconds(1'769'847'300) + std::chrono::microseconds(42));
  }
  traced_event(const traced_event&) = delete;
  traced_event& operator=(const traced_event&) = delete;

  span_context context() const { return *span_context_of(what); }
  otlp::published_event published(std::string_view destination = "outbox:order.created") const {
    return {.what = what,
            .destination = destination,
            .routing_key = "order.created",
            .sent = what.created_at + std::chrono::milliseconds(1'500),
            .confirmed = what.created_at + std::chrono::milliseconds(2'000)};
  }

  std::string headers = R"({"traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"})";
  event what;
};

}  // namespace outboxd::test
