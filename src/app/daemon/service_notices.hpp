// service_notices: what a running relay tells systemd, and when.
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

// The line is "leads 1 of 1 shards", "standby: another relay leads", or what is wrong.
service_state state_of(const relay::relay_figures& from);

// The same for several outboxes: how many are ready, and what is wrong with the first that is not.
service_state state_of(const std::vector<outbox_view>& from);

// Asked on the reactor.
struct service_view {
  std::function<service_state()> state;
  std::function<std::optional<std::string>()> stuck;    // the same as /healthz
  std::function<void(const std::string& why)> unheard;  // the service manager cannot be told; once
};

// READY=1 once each server has been tried, or after five seconds: a standby is ready, and so is a relay whose
// servers are away, for it only waits for them; one that is refused for good ends before. Without a service
// manager it does nothing. For one thread; both references have to outlive it.
class service_notices {
 public:
  service_notices(boost::asio::io_context& io, const sd_notify& to, service_view of);

  void start();
  // Looks now instead of within a second.
  void look();
  // The settings are read again; and have been, or are refused.
  void reloading();
  void reloaded(bool refused);
  // The relay has stopped; the reactor is to run out of work.
  void stop();

 private:
  using clock = std::chrono::steady_clock;

  // What the manager has been told.
  enum class told {
    nothing,
    ready,
    stopping,
    everything,  // the relay has stopped
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
