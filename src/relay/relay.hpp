// relay: combines the lanes and the leaders of shards on one reactor.
#pragma once

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "flow/dispatch/lanes.hpp"
#include "relay/figures.hpp"
#include "relay/leader.hpp"
#include "relay/notices.hpp"
#include "relay/pruner.hpp"
#include "relay/rabbitmq_broker.hpp"
#include "relay/sampler.hpp"
#include "relay/settings.hpp"

namespace outboxd::relay {

// The leader of this shard also does the work for the whole table: samples and retention.
inline constexpr int first_shard = 0;

// Runs until stop(). Not thread-safe; the io_context has to outlive the relay.
class relay final : private leader_host {
 public:
  // steps: notified of steps of each event; they must outlive the relay.
  relay(boost::asio::io_context& io, relay_settings settings, relay_observer tell,
        flow::step_observers steps = {});
  ~relay();

  // on_stopped: called when all sessions are closed (clean), or when the time limit for closing them has
  // expired; in that case a handler may still keep the reactor busy.
  void start(std::function<void(bool clean)> on_stopped);

  // Adopts settings that can change at run time: routes, retries, sweep_interval, standby_interval,
  // confirm_timeout, shutdown_grace, max_rate, retention and the limits of memory.
  void adopt(const relay_settings& changed);

  // Guarantee 11: stops reading, waits for outstanding confirms up to shutdown_grace, and gives up the leads.
  // Afterwards the reactor runs out of work.
  void stop();

  // Set if the relay has stopped by itself, because of a permanent error before it was ever connected.
  const std::optional<error>& failure() const { return failure_; }
  const counts& totals() const { return counts_; }
  // The outbox's payload type; nullopt until it is known.
  std::optional<payload_type> payload() const;
  relay_figures figures() const;
  // Returns why the relay makes no progress although it waits for nothing; nullopt if it makes progress.
  std::optional<std::string> stuck() const;

 private:
  void take_routes();
  struct pipe;

  void on_link_up(peer which) override;
  void on_link_down(peer which, const error& why) override;
  void on_link_refused(peer which, const error& why) override;
  void on_link_blocked(std::string_view reason) override;
  void on_link_unblocked() override;
  void on_exchange_created(const std::string& name) override;
  void on_token_not_renewed(wall_time end, const error& why) override;
  void on_token_renewed() override;
  void on_open_to_network(const std::string& why) override;
  void on_certificate_shown(std::chrono::system_clock::time_point expires) override {
    certificate_expires_ = expires;
  }

  void tell(const relay_notice& what) override;
  counts& so_far() override { return counts_; }
  const flow::step_observers& steps() const override { return steps_; }
  // Notices that the relay itself uses; all notices are passed on, except repeated ones.
  template <class Notice>
  void take(const Notice& what) {
    tell_(what);
  }
  void take(const notice::led& what);
  void take(const notice::gave_up& what);
  void take(const notice::stands_by& what);
  void take(const notice::goes_without& what);
  void take(const notice::newer_schema& what);
  void take(const notice::queue& what);
  void take(const notice::paused& what);
  void take(const notice::failed& what);
  void take(const notice::changed_after_send& what);

  std::vector<obstacle> obstacles() const;
  std::vector<obstacle> warnings() const;
  std::optional<obstacle> catching_up(const leader& one) const;
  std::optional<obstacle> refused_writes(bool all) const;
  void on_destination_down(const flow::destination_report& what, std::string_view reason);
  void begin_sampling();
  void end_sampling();
  bool leads_first() const;
  void begin_pruning();
  void end_pruning();
  void on_pruned(prunable what, std::int64_t rows);
  void on_prune_ended(const prune_run& run);
  flow::prune_pace::load load() const;
  void add_leader();
  void say_down(peer which, const error& why);
  void watch_deadlines();
  void watch_rate();
  void close_lanes();
  void spawn(boost::asio::awaitable<void> activity, std::function<void()> then = nullptr);
  void stopped(bool clean);

  struct link_state {
    int wanted = 0;
    int up = 0;
    bool ever_up = false;  // true if all connections were open at the same time
    bool said_up = false;
    std::string said_down;
    error latest;  // the latest reason why a connection is down
    std::chrono::system_clock::time_point none_since = std::chrono::system_clock::now();
  };
  link_state& state_of(peer which) { return which == peer::database ? database_ : broker_; }

  // The progress of a stop.
  enum class stage {
    running,
    draining,  // leaders give up their leads and wait for confirms
    closing,   // only the closing of connections is left
  };

  boost::asio::io_context& io_;
  relay_settings settings_;
  relay_observer tell_;
  flow::step_observers steps_;
  flow::lanes lanes_;
  size_limit largest_;
  std::vector<std::unique_ptr<pipe>> pipes_;
  flow::fair_share share_;
  std::vector<std::unique_ptr<leader>> leaders_;
  boost::asio::steady_timer deadline_timer_;
  boost::asio::steady_timer rate_timer_;
  boost::asio::steady_timer grace_timer_;
  bool watching_ = false;
  bool waits_for_rate_ = false;
  bool said_stands_by_ = false;  // since the relay last led, it has reported that it stands by
  std::int64_t said_schema_ = 0;
  std::chrono::system_clock::time_point newer_since_;
  bool queue_fills_ = false;  // the notification queue fills up, as last reported by a leader
  std::string said_open_;     // the reported reason why traffic with PostgreSQL is not secure
  std::string said_without_;  // the reported missing default privileges
  std::string said_token_;    // the reported reason why a token was not renewed
  std::string said_created_;  // the reported exchange; cleared when all lanes are up
  stage stage_ = stage::running;
  link_state database_;
  link_state broker_;
  std::function<void(bool)> on_stopped_;
  int active_ = 0;   // number of coroutines
  int leading_ = 0;  // number of leaders' coroutines
  int blocked_ = 0;  // number of blocked connections
  std::string blocked_because_;
  std::chrono::system_clock::time_point blocked_since_;
  std::chrono::system_clock::time_point missing_since_;  // since when the exchange is missing
  std::chrono::system_clock::time_point stopped_at_;
  std::string exchange_missing_;  // why messages for the default exchange last failed
  std::optional<error> failure_;
  counts counts_;
  std::shared_ptr<sampler> sampler_;  // set while the relay leads shard 0
  std::shared_ptr<pruner> pruner_;    // set while the relay leads shard 0
  std::optional<table_sample> table_;
  std::optional<std::chrono::system_clock::time_point> certificate_expires_;
  std::vector<flow::pause> paused_;  // known while the relay leads a shard
};

}  // namespace outboxd::relay
