// relay: the lanes and the leaders of shards, put together on one reactor.
#pragma once

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "flow/lanes.hpp"
#include "relay/figures.hpp"
#include "relay/leader.hpp"
#include "relay/pruner.hpp"
#include "relay/rabbitmq_broker.hpp"
#include "relay/sampler.hpp"
#include "relay/settings.hpp"

namespace outboxd::relay {

// What there is to log; called on the reactor.
struct relay_report {
  std::function<void(peer)> connected;                   // all sessions with this server are up
  std::function<void(peer, const error&)> disconnected;  // once per new reason
  // An event could not be published to where it was to go.
  std::function<void(const event&, const flow::destination& to, const flow::failure_record&)> failed;
  std::function<void(const event&, const std::string& reason)> stuck;  // what became of it cannot be written
  std::function<void(const event&)> changed_after_send;                // its row says something else by now
  std::function<void(std::string_view reason)> deferred;               // PostgreSQL puts statements off
  std::function<void()> deferral_over;                                 // and does them again
  std::function<void(const std::string& words)> culprit;   // somebody's locks are in the way for ten seconds
  std::function<void(std::int64_t version)> newer_schema;  // than this version's own; it works with it
  std::function<void(const std::string& who)> makes_way;   // for who asks for a lead
  std::function<void(std::int64_t shards)> shards_mended;  // their rows were gone, and are made again
  std::function<void()> stands_by;                         // other relays lead
  std::function<void(const std::vector<event_key>&)> in_doubt;  // the relay stops; these may go out again
  std::function<void(const shard_view&)> led;                   // this relay leads the shard from now on
  std::function<void(int shard)> gave_up;                       // and does not any more
  std::function<void(std::string_view reason)> blocked;         // connection.blocked
  std::function<void()> unblocked;                              // none of its connections is blocked any more
  std::function<void(const std::string& why)> open_to_network;  // between us and PostgreSQL
  std::function<void(const std::string& name)> exchange_created;  // nothing is bound to it yet
  // What has worked fails for everybody; and works again.
  std::function<void(const flow::destination&, std::string_view reason)> destination_down;
  std::function<void(const flow::destination&, std::chrono::milliseconds down_for)> destination_up;
  std::function<void(const std::vector<flow::pause>& in_force)> paused;  // other parts than before, or none
  std::function<void(const std::string&)> deaf;  // notifications of PostgreSQL do not arrive
  std::function<void()> hearing_again;
  std::function<void(bool fills, double usage)> queue;      // of notifications; or it fills no longer
  std::function<void(prunable, std::int64_t rows)> pruned;  // deleted by one statement
  std::function<void(const prune_run&)> prune_ended;
  std::function<void(prunable, const error&)> prune_refused;
  std::function<void(prunable, std::int64_t rows, std::string_view why)> prune_kept;
  std::function<void(const error&)> sample_refused;  // the table is not counted for metrics
  // A partition: see turn_partition in sql/0008_partitions.sql.
  std::function<void(std::string_view what, std::int64_t number)> turned;
  flow::step_observer* steps = nullptr;  // outlives the relay
};

// What concerns the whole table, its figures and retention, is done by one relay: the one that leads this
// shard.
inline constexpr int first_shard = 0;

// Runs until stop(). For one thread; the io_context has to outlive it.
class relay final : private leader_host {
 public:
  relay(boost::asio::io_context& io, relay_settings settings, relay_report report);
  ~relay();

  // on_stopped: the sessions are closed, or the time for that is up; false then, and something may still hold
  // on to the reactor.
  void start(std::function<void(bool clean)> on_stopped);

  // Takes up what can change at run time: routes, retries, sweep_interval, confirm_timeout, shutdown_grace,
  // max_rate and retention.
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
  // The reason why it does not go on although nothing tells it to wait, or nothing.
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
  void on_open_to_network(const std::string& why) override;
  void on_certificate_shown(std::chrono::system_clock::time_point expires) override {
    certificate_expires_ = expires;
  }
  void on_deaf(const std::string& why) override { report_.deaf(why); }
  void on_hearing_again() override { report_.hearing_again(); }

  void on_led(const shard_view& what) override;
  void on_gave_up(int shard) override;
  counts& so_far() override { return counts_; }
  flow::step_observer* steps() override { return report_.steps; }
  void on_failed(const event& which, const flow::destination& to, const flow::failure_record& how) override;
  void on_deferred(std::string_view reason) override { report_.deferred(reason); }
  void on_deferral_over() override { report_.deferral_over(); }
  void on_culprit(const std::string& words) override { report_.culprit(words); }
  void on_newer_schema(std::int64_t version) override;
  void on_queue(bool fills, double usage) override;
  void on_makes_way(const std::string& who) override { report_.makes_way(who); }
  void on_shards_mended(std::int64_t shards) override { report_.shards_mended(shards); }
  void on_stands_by() override;
  void on_in_doubt(const std::vector<event_key>& ids) override { report_.in_doubt(ids); }
  void on_stuck(const event& which, const std::string& reason) override { report_.stuck(which, reason); }
  void on_changed_after_send(const event& which) override {
    ++counts_.changed_after_send;
    report_.changed_after_send(which);
  }
  void on_pauses(const std::vector<flow::pause>& in_force) override;

  std::vector<obstacle> obstacles() const;
  std::vector<obstacle> warnings() const;
  std::optional<obstacle> catching_up(const leader& one) const;
  std::optional<obstacle> refused_writes(bool all) const;
  void on_destination_down(const flow::destination& which, std::string_view reason);
  void on_destination_up(const flow::destination& which, std::chrono::milliseconds down_for);
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
  relay_report report_;
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
  std::string exchange_missing_;  // why messages for the default exchange fail, or empty
  std::optional<error> failure_;
  counts counts_;
  std::shared_ptr<sampler> sampler_;  // while it leads shard 0
  std::shared_ptr<pruner> pruner_;    // the same
  std::optional<table_sample> table_;
  std::optional<std::chrono::system_clock::time_point> certificate_expires_;
  std::vector<flow::pause> paused_;  // while it leads a shard
};

}  // namespace outboxd::relay
