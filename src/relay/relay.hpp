// relay: the lanes and the leaders of shards, put together on one reactor.
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

// The leader of this shard does the work for the whole table: its figures and retention.
inline constexpr int first_shard = 0;

// Runs until stop(). For one thread; the io_context has to outlive it.
class relay final : private leader_host {
 public:
  // steps: told of each step of each event; may be null, and outlives the relay.
  relay(boost::asio::io_context& io, relay_settings settings, relay_observer tell,
        flow::step_observer* steps = nullptr);
  ~relay();

  // on_stopped: the sessions are closed, or the time for that is up; false then, and something may still hold
  // on to the reactor.
  void start(std::function<void(bool clean)> on_stopped);

  // Takes up what can change at run time: routes, retries, sweep_interval, standby_interval, confirm_timeout,
  // shutdown_grace, max_rate, retention, and how much is held in memory.
  void adopt(const relay_settings& changed);

  // Guarantee 11: no new reads, outstanding confirms up to shutdown_grace, the lead given up. Then the
  // reactor runs out of work.
  void stop();

  // Set when the relay has stopped by itself, because it met a permanent error before it ever was connected.
  const std::optional<error>& failure() const { return failure_; }
  const counts& totals() const { return counts_; }
  // Of the outbox, once it is known.
  std::optional<payload_type> payload() const;
  relay_figures figures() const;
  // Why it makes no progress although it waits for nothing; nullopt: it does.
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
  flow::step_observer* steps() override { return steps_; }
  // The notices that it takes note of; all are passed on, except repeated ones.
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
    bool ever_up = false;  // all at once
    bool said_up = false;
    std::string said_down;
    error latest;  // why it is not up
    std::chrono::system_clock::time_point none_since = std::chrono::system_clock::now();
  };
  link_state& state_of(peer which) { return which == peer::database ? database_ : broker_; }

  // How far a stop has come.
  enum class stage {
    running,
    draining,  // leaders give up; confirms are awaited
    closing,   // only connections are left to be closed
  };

  boost::asio::io_context& io_;
  relay_settings settings_;
  relay_observer tell_;
  flow::step_observer* steps_;
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
  bool said_stands_by_ = false;  // since it led last
  std::int64_t said_schema_ = 0;
  std::chrono::system_clock::time_point newer_since_;
  bool queue_fills_ = false;  // of notifications, as one of the leaders has said last
  std::string said_open_;     // why the network can read along
  std::string said_without_;  // what PostgreSQL keeps from our user
  std::string said_token_;    // why one is not renewed
  std::string said_created_;  // an exchange; since not all lanes were up
  stage stage_ = stage::running;
  link_state database_;
  link_state broker_;
  std::function<void(bool)> on_stopped_;
  int active_ = 0;   // coroutines
  int leading_ = 0;  // of them, those of leaders
  int blocked_ = 0;  // connections
  std::string blocked_because_;
  std::chrono::system_clock::time_point blocked_since_;
  std::chrono::system_clock::time_point missing_since_;  // the exchange
  std::chrono::system_clock::time_point stopped_at_;
  std::string exchange_missing_;  // why messages for the default exchange failed the latest time
  std::optional<error> failure_;
  counts counts_;
  std::shared_ptr<sampler> sampler_;  // while it leads shard 0
  std::shared_ptr<pruner> pruner_;    // the same
  std::optional<table_sample> table_;
  std::optional<std::chrono::system_clock::time_point> certificate_expires_;
  std::vector<flow::pause> paused_;  // while it leads a shard
};

}  // namespace outboxd::relay
