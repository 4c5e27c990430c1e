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

// What became of changed settings.
enum class reload_outcome {
  done,     // those that a running relay takes up are in force; the log names those that wait for a restart
  refused,  // nothing has changed; the log says why
  restart,  // nothing has changed: the relay has to be started again with the new settings
};

class outbox_relay {
 public:
  // from.outbox is in each line of the log, unless it is empty. `io` has to outlive it.
  // most_bytes: of payloads in memory; nullopt: as many as relay.batch_bytes allows. others: notified of steps
  // of events, besides the log; they must outlive the relay.
  outbox_relay(boost::asio::io_context& io, settings from, std::optional<std::int64_t> most_bytes,
               const flow::step_observers& others);

  // on_stopped: as relay::relay::start has it. The object may only be destroyed after the handlers that are
  // ready then.
  void start(std::function<void(bool clean)> on_stopped);
  void stop() { relay_.stop(); }

  // may_restart: a change that a running relay cannot take up has the outcome `restart`.
  reload_outcome take_up(const result<raw_settings>& found, bool may_restart);
  // Changes the limit while it runs.
  void limit_memory_to(std::int64_t most_bytes);

  // There are others now.
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
