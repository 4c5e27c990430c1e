// service_notices: the notifications that a running relay sends to systemd.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "app/daemon/relay_host.hpp"
#include "app/daemon/sd_notify.hpp"
#include "relay/figures.hpp"

namespace outboxd::app {

struct service_state {
  relay::progress now_in = relay::progress::starting;
  std::string line;
};

// The line is "leads 1 of 1 shards", "standby: another relay leads", or the fault.
service_state state_of(const relay::relay_figures& from);

// Returns the state of several outboxes: how many are ready, and the fault of the first that is not.
service_state state_of(const std::vector<outbox_view>& from);

// Functions that are called on the reactor.
struct service_view {
  std::function<service_state()> state;
  std::function<std::optional<std::string>()> stuck;    // returns what /healthz reports
  std::function<void(const std::string& why)> unheard;  // called once if the service manager cannot be
                                                        // notified
};

// Sends READY=1 once each server has been tried, or after five seconds. A standby is ready, and so is a relay
// that waits for unreachable servers; a relay that a server rejects permanently ends before that. Without a
// service manager the object does nothing. For one thread; both references must outlive the object.
class service_notices {
 public:
  service_notices(boost::asio::io_context& io, const sd_notify& to, service_view of);

  void start();
  // Checks the state now instead of within a second.
  void look();
  // Called when the settings are being reloaded, and when they have been applied or rejected.
  void reloading();
  void reloaded(bool refused);
  // The relay has stopped, so the timer must not keep the reactor running.
  void stop();

 private:
  using clock = std::chrono::steady_clock;

  // The last state that the manager was told.
  enum class told {
    nothing,
    ready,
    stopping,
    everything,  // that the relay has stopped
  };

  void wait();
  void feed();
  void tell_state(relay::progress now_in);
  void tell_status(const std::string& line);
  bool send(const std::string& lines);

  const sd_notify& to_;
  service_view of_;
  boost::asio::steady_timer check_timer_;
  boost::asio::steady_timer watchdog_timer_;
  told told_ = told::nothing;
  clock::time_point ready_at_latest_{};
  std::string status_;
  bool settings_refused_ = false;
  bool said_unheard_ = false;
};

}  // namespace outboxd::app
