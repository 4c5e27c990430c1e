// relay_host: the relays of a process: one, or one for each of several outboxes. The relays share only the
// reactor.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/config/outbox_files.hpp"
#include "app/config/settings.hpp"
#include "app/daemon/log.hpp"
#include "app/daemon/outbox_relay.hpp"
#include "relay/figures.hpp"

namespace outboxd::app {

// The settings of a process and of the outboxes that it relays.
struct host_plan {
  struct outbox {
    std::string name;  // empty: the only outbox, which the main settings define
    result<raw_settings> raw;
  };
  raw_settings process;
  std::vector<outbox> outboxes;
};

// Without files there is one outbox without a name. A single file may also contain settings of the process.
host_plan plan_of(raw_settings main, const std::vector<outbox_file>& files);

// The public view of an outbox.
struct outbox_view {
  std::string name;
  bool runs = true;  // false: the settings are invalid, or the relay waits to be restarted; `now` has the
                     // reason
  relay::relay_figures now;
};

class relay_host {
 public:
  // `process`: the settings that outboxes share. steps: notified of steps of all events. They and `io` must
  // outlive this object.
  relay_host(boost::asio::io_context& io, settings process, std::shared_ptr<logger> log,
             flow::step_observers steps = {});
  ~relay_host();

  // on_ended: called when every relay has stopped; false: a handler may still keep the reactor busy.
  void start(const host_plan& plan, std::function<void(bool clean)> on_ended);
  void stop();

  // Starts the relays of new outboxes, stops those of removed ones, and applies changed settings or restarts
  // relays for them. An outbox with invalid settings keeps its previous ones. Returns whether all settings
  // are valid; the log names those that are not.
  bool take_up(const result<host_plan>& plan);

  // Returns whether several outboxes are, or have been, configured. If so, logs, metrics and responses name
  // them.
  bool many() const { return many_; }
  // The outboxes are sorted by name.
  std::vector<outbox_view> view() const;
  // Returns why the first stuck relay makes no progress.
  std::optional<std::string> stuck() const;
  // Returns why the relay of the only outbox has ended by itself.
  const std::optional<error>& failure() const { return failure_; }
  const std::vector<std::string>& required() const { return process_.http.ready_requires; }

 private:
  struct place;

  bool arrange(const host_plan& plan);
  void take_up_process(const raw_settings& found);
  void remove_others(const host_plan& plan);
  void share_memory();
  std::optional<std::int64_t> share_of_memory() const;
  void begin(place& one);
  void on_stopped(place& one, bool clean);
  void begin_later(place& one, const error& why);
  void refuse(place& one, const error& why);
  void end_if_all_stopped();

  boost::asio::io_context& io_;
  settings process_;
  std::shared_ptr<logger> log_;
  flow::step_observers steps_;
  std::map<std::string, std::unique_ptr<place>> places_;
  std::vector<std::unique_ptr<outbox_relay>> hanging_;  // relays that have stopped but may still keep the
                                                        // reactor busy
  bool many_ = false;
  bool stopping_ = false;
  bool clean_ = true;
  std::optional<error> failure_;
  std::function<void(bool)> on_ended_;
};

}  // namespace outboxd::app
