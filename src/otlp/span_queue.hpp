// span_queue: spans that wait for the collector, in requests that are ready to be sent. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "otlp/span.hpp"

namespace outboxd::otlp {

struct queue_limits {
  std::size_t request = 256 * 1024;    // bytes, from which on a request is full
  std::size_t most = 8 * 1024 * 1024;  // bytes of all requests; after that, spans are refused
  std::size_t span = 64 * 1024;        // bytes of a span; a larger one is refused
};

class span_queue {
 public:
  struct request {
    std::string body;
    std::size_t spans = 0;
  };

  explicit span_queue(queue_limits limits = {}) : limits_(limits) {}

  // False: there was no room.
  bool add(const span_context& at, const published_event& of);
  // Removes the oldest spans, as many as make up a request. Nothing if there are none.
  std::optional<request> take();

  std::size_t spans() const { return spans_; }
  // The oldest request takes no more spans.
  bool has_full_request() const { return !all_.empty() && is_full(all_.front()); }

 private:
  bool is_full(const request& one) const { return one.body.size() >= limits_.request; }

  queue_limits limits_;
  std::deque<request> all_;
  std::size_t bytes_ = 0;
  std::size_t spans_ = 0;
};

}  // namespace outboxd::otlp
