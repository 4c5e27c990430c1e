// otlp_span_queue_test: spans become requests, and what does not fit is refused.
#include "otlp/span_queue.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "otlp_script.hpp"

namespace otlp_span_queue_test {

using namespace outboxd;
using namespace outboxd::otlp;
using nlohmann::json;
using outboxd::test::traced_event;

namespace {

std::size_t spans_in(const span_queue::request& one) {
  const auto all = json::parse(one.body).at("resourceSpans").at(0).at("scopeSpans").at(0).at("spans").size();
  CHECK(all == one.spans);
  return all;
}

std::size_t size_of_span(const traced_event& from) {
  std::string out;
  append_span(out, from.context(), from.published());
  return out.size();
}

}  // namespace

TEST_CASE("spans leave the queue in requests of about the size that is asked for") {
  const traced_event from;
  span_queue queue({.request = request_head().size() + 2 * size_of_span(from)});
  CHECK_FALSE(queue.take());
  for (int i = 0; i < 5; ++i) {
    CHECK(queue.has_full_request() == (i >= 2));
    CHECK(queue.add(from.context(), from.published()));
  }
  CHECK(queue.spans() == 5);
  CHECK(spans_in(*queue.take()) == 2);
  CHECK(spans_in(*queue.take()) == 2);
  CHECK_FALSE(queue.has_full_request());
  CHECK(spans_in(*queue.take()) == 1);
  CHECK(queue.spans() == 0);
  CHECK_FALSE(queue.take());
}

TEST_CASE("a full queue refuses spans until some are taken") {
  const traced_event from;
  const auto size = size_of_span(from);
  span_queue queue({.request = request_head().size() + 2 * size, .most = 4 * size});
  int added = 0;
  while (queue.add(from.context(), from.published())) ++added;
  CHECK(added == 4);
  queue.take();
  CHECK(queue.add(from.context(), from.published()));
  while (queue.take()) continue;
  for (int i = 0; i < 4; ++i) CHECK(queue.add(from.context(), from.published()));
}

TEST_CASE("a span of unusual size is refused, and leaves the others as they are") {
  traced_event from;
  span_queue queue({.span = 2 * size_of_span(from)});
  const auto add = [&](std::size_t id) {
    const std::string text(id, 'x');
    from.what.aggregate_id = text;
    return queue.add(from.context(), from.published());
  };
  CHECK_FALSE(add(10'000));
  CHECK(queue.spans() == 0);
  CHECK_FALSE(queue.take());
  CHECK(add(1));
  CHECK_FALSE(add(10'000));
  CHECK(add(2));
  CHECK(spans_in(*queue.take()) == 2);
}

}  // namespace otlp_span_queue_test
