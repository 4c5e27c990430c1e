// step_log: log lines about single events: each step at level debug, and the JSON fields that identify the
// event.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "app/daemon/log.hpp"
#include "flow/stream/step_observer.hpp"

namespace outboxd::app {

// The fields have the names of OpenTelemetry's messaging conventions, or the prefix "outboxd.". Of the
// event's headers, only the trace id is logged. `operation`: messaging.operation.name.
log_fields fields_of(const event& of, const flow::destination& to, std::string_view operation);

// As OpenTelemetry's conventions name it for a producer.
std::string destination_name(const flow::destination& to);

class step_log final : public flow::step_observer {
 public:
  explicit step_log(std::shared_ptr<logger> log) : log_(std::move(log)) { follow_level(); }

  // Listens if the logger accepts level debug. Must be called after the level has changed.
  void follow_level() { listen_to_all(log_->should_log(spdlog::level::debug)); }

  void on_step(const flow::step_taken& what) override;

 private:
  std::shared_ptr<logger> log_;
};

}  // namespace outboxd::app
