// step_log: lines about single events: each of their steps at level debug, and in JSON the fields that tell
// which event it is.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "app/daemon/log.hpp"
#include "flow/stream/step_observer.hpp"

namespace outboxd::app {

// The names are those of OpenTelemetry's messaging conventions, and ours with the prefix "outboxd.". Of its
// headers an event tells the trace id and nothing else. `operation`: messaging.operation.name.
log_fields fields_of(const event& of, const flow::destination& to, std::string_view operation);

// As OpenTelemetry's conventions name it for a producer.
std::string destination_name(const flow::destination& to);

class step_log final : public flow::step_observer {
 public:
  explicit step_log(std::shared_ptr<logger> log) : log_(std::move(log)) { follow_level(); }

  // Listens if the logger takes lines of level debug: to be called when that has changed.
  void follow_level() { listen_to_all(log_->should_log(spdlog::level::debug)); }

  void on_step(const flow::step_taken& what) override;

 private:
  std::shared_ptr<logger> log_;
};

}  // namespace outboxd::app
