#include "otlp/span_queue.hpp"

#include <utility>

namespace outboxd::otlp {

bool span_queue::add(const span_context& at, const published_event& of) {
  if (bytes_ >= limits_.most) return false;
  if (all_.empty() || is_full(all_.back())) {
    auto& fresh = all_.emplace_back();
    fresh.body.reserve(limits_.request + 4096);
    fresh.body = request_head();
  }
  auto& last = all_.back();
  const auto before = last.body.size();
  if (last.spans > 0) last.body += ',';
  append_span(last.body, at, of);
  const auto added = last.body.size() - before;
  if (added > limits_.span) {
    last.body.resize(before);
    return false;
  }
  ++last.spans;
  ++spans_;
  bytes_ += added;
  return true;
}

std::optional<span_queue::request> span_queue::take() {
  if (spans_ == 0) return std::nullopt;
  auto out = std::move(all_.front());
  all_.pop_front();
  bytes_ -= out.body.size() - request_head().size();
  spans_ -= out.spans;
  out.body += request_tail;
  return out;
}

}  // namespace outboxd::otlp
