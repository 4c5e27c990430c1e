// span_steps: makes a span of each event that the broker confirms, if its trace is sampled.
#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <string>

#include "app/daemon/log.hpp"
#include "flow/stream/step_observer.hpp"
#include "http/url.hpp"
#include "otlp/span_sender.hpp"

namespace outboxd::app {

class span_steps final : public flow::step_observer {
 public:
  span_steps(boost::asio::io_context& io, const http::url& collector, const std::shared_ptr<logger>& log);

  void on_step(const flow::step_taken& what) override;
  // As span_sender::stop.
  void stop(std::function<void(bool clean)> then) { sender_.stop(std::move(then)); }

  const otlp::span_counts& counts() const { return sender_.counts(); }

 private:
  otlp::span_sender sender_;
};

// What became of the spans, in Prometheus' text format.
std::string span_metrics(const otlp::span_counts& all);

}  // namespace outboxd::app
