// outbox_relay: the relay of one outbox, with its log and the settings in force.
#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "app/config/settings.hpp"
#include "app/daemon/log.hpp"
#include "app/daemon/relay_log.hpp"
#include "app/daemon/step_log.hpp"
#include "relay/relay.hpp"

namespace outboxd::app {

// The outcome of changed settings.
enum class reload_outcome {
  done,     // the settings that a running relay can apply are in force; the log names those that require a
            // restart
  refused,  // nothing has changed; the log contains the reason
  restart,  // nothing has changed; the relay must be restarted with the new settings
};

class outbox_relay {
 public:
  // Each line of the log contains from.outbox, unless it is empty. `io` must outlive the object. most_bytes:
  // limit of payloads in memory; nullopt: relay.batch_bytes is the limit. others: notified of steps of
  // events, besides the log; they must outlive the object.
  outbox_relay(boost::asio::io_context& io, settings from, std::optional<std::int64_t> most_bytes,
               const flow::step_observers& others);

  // on_stopped: see relay::relay::start. The object may be destroyed only after all handlers that are ready
  // when on_stopped is called.
  void start(std::function<void(bool clean)> on_stopped);
  void stop() { relay_.stop(); }

  // may_restart: a change that a running relay cannot apply has the outcome `restart`.
  reload_outcome take_up(const result<raw_settings>& found, bool may_restart);
  // Changes the memory limit of a running relay.
  void limit_memory_to(std::int64_t most_bytes);

  // Adds the outbox's name to each log line, once there are several outboxes.
  void name_in_log(const std::string& outbox) { log_->of_outbox(outbox); }

  const relay::relay& relay() const { return relay_; }
  const std::shared_ptr<logger>& log() const { return log_; }

 private:
  relay::relay_settings limited() const;

  settings in_force_;
  std::optional<std::int64_t> most_bytes_;
  std::shared_ptr<logger> log_;
  step_log steps_;
  relay_log said_;
  relay::relay relay_;
};

}  // namespace outboxd::app
