// relay: the doorbell, the lanes and their sessions, put together on one reactor.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "relay/claim_floors.hpp"
#include "relay/dispatcher.hpp"
#include "relay/doorbell.hpp"
#include "relay/link_observer.hpp"
#include "relay/postgres_outbox.hpp"
#include "relay/rabbitmq_broker.hpp"

namespace outboxd::relay {

struct relay_settings {
  postgres_settings database;
  rabbitmq_settings broker;
  lane_settings lane;
  int lanes = 4;
  std::chrono::milliseconds sweep_interval{1'000};
  std::chrono::milliseconds shutdown_grace{10'000};
};

// What there is to log; called on the reactor.
struct relay_report {
  std::function<void(peer)> connected;                         // all sessions with this server are up
  std::function<void(peer, const error&)> disconnected;        // once per new reason
  std::function<void(const event&, const setback&)> set_back;  // an event could not be published
  std::function<void(std::string_view reason)> blocked;        // RabbitMQ takes nothing for now
  std::function<void()> unblocked;                             // none of its connections is blocked any more
  std::function<void(const std::string&)> deaf;                // notifications of PostgreSQL do not arrive
  std::function<void()> hearing_again;
};

// Runs until stop(). For one thread; the io_context has to outlive it.
class relay final : private link_observer {
 public:
  relay(boost::asio::io_context& io, relay_settings settings, relay_report report);
  ~relay();

  // on_stopped: the sessions are closed, or the time for that is up; false then, and something may still hold on to the
  // reactor.
  void start(std::function<void(bool clean)> on_stopped);

  // Guarantee 11: no new claims, outstanding confirms up to shutdown_grace, the rest given back. Then the
  // reactor runs out of work.
  void stop();

  // Set when the relay has stopped by itself, because it met a permanent error before it ever was connected.
  const std::optional<error>& failure() const { return failure_; }
  std::size_t published() const { return published_; }
  delivery_totals totals() const { return dispatcher_.totals(); }

  // Notifications are proven to arrive; without them events leave by the sweep.
  bool hears() const { return doorbell_.hears(); }

 private:
  struct worker;

  void on_link_up(peer which) override;
  void on_link_down(peer which, const error& why) override;
  void on_link_refused(peer which, const error& why) override;
  void on_link_blocked(std::string_view reason) override;
  void on_link_unblocked() override;
  void on_deaf(const std::string& why) override { report_.deaf(why); }
  void on_hearing_again() override { report_.hearing_again(); }

  void say_down(peer which, const error& why);
  void watch_deadlines();
  void watch_owed_look();
  void finish_when_idle();
  void close_sessions();
  void spawn(boost::asio::awaitable<void> activity);
  void stopped(bool clean);

  struct link_state {
    int wanted = 0;
    int up = 0;
    bool ever_up = false;  // all at once
    bool said_up = false;
    std::string said_down;
  };
  link_state& state_of(peer which) { return which == peer::database ? database_ : broker_; }

  boost::asio::io_context& io_;
  relay_settings settings_;
  relay_report report_;
  dispatcher dispatcher_;
  claim_floors floors_;
  doorbell doorbell_;
  std::vector<std::unique_ptr<worker>> workers_;
  boost::asio::steady_timer deadline_timer_;
  boost::asio::steady_timer owed_look_timer_;
  boost::asio::steady_timer grace_timer_;
  bool watching_ = false;
  bool watching_owed_look_ = false;
  bool stopping_ = false;
  bool closed_ = false;
  link_state database_;
  link_state broker_;
  std::function<void(bool)> on_stopped_;
  int active_ = 0;   // coroutines
  int blocked_ = 0;  // connections
  std::optional<error> failure_;
  std::size_t published_ = 0;
};

}  // namespace outboxd::relay
