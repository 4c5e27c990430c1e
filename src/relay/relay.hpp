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
#include "relay/leader.hpp"
#include "relay/rabbitmq_broker.hpp"

namespace outboxd::relay {

struct relay_settings {
  leader_settings leader;
  rabbitmq_settings broker;
  flow::lane_limits lane;
  int lanes = 2;
  std::chrono::milliseconds shutdown_grace{10'000};
};

// What there is to log; called on the reactor.
struct relay_report {
  std::function<void(peer)> connected;                   // all sessions with this server are up
  std::function<void(peer, const error&)> disconnected;  // once per new reason
  std::function<void(const event&, const flow::failure_record&)> failed;  // an event could not be published
  std::function<void(const event&, const std::string& reason)> stuck;  // what became of it cannot be written
  std::function<void(std::string_view reason)> deferred;               // PostgreSQL puts statements off
  std::function<void()> deferral_over;                                 // and does them again
  std::function<void(const std::string& words)> culprit;  // somebody's locks are in the way for ten seconds
  std::function<void()> stands_by;                        // other relays lead
  std::function<void(const std::vector<event_id>&)> in_doubt;  // the relay stops; these may go out again
  std::function<void(const shard_view&)> led;                  // this relay leads the shard from now on
  std::function<void(int shard)> gave_up;                      // and does not any more
  std::function<void(std::string_view reason)> blocked;        // RabbitMQ takes nothing for now
  std::function<void()> unblocked;                             // none of its connections is blocked any more
  // What has worked fails for everybody; and works again.
  std::function<void(const flow::destination&, std::string_view reason)> destination_down;
  std::function<void(const flow::destination&, std::chrono::milliseconds down_for)> destination_up;
  std::function<void(const std::string&)> deaf;  // notifications of PostgreSQL do not arrive
  std::function<void()> hearing_again;
};

struct relay_totals {
  std::uint64_t published = 0;
  std::uint64_t retried = 0;  // backing off after a failed attempt or because the broker could not take it
  std::uint64_t dead = 0;
};

// Runs until stop(). For one thread; the io_context has to outlive it.
class relay final : private leader_host {
 public:
  relay(boost::asio::io_context& io, relay_settings settings, relay_report report);
  ~relay();

  // on_stopped: the sessions are closed, or the time for that is up; false then, and something may still hold on to the
  // reactor.
  void start(std::function<void(bool clean)> on_stopped);

  // Guarantee 11: no new reads, outstanding confirms up to shutdown_grace, the lead given up. Then the reactor runs out of work.
  void stop();

  // Set when the relay has stopped by itself, because it met a permanent error before it ever was connected.
  const std::optional<error>& failure() const { return failure_; }
  const relay_totals& totals() const { return totals_; }

 private:
  struct pipe;

  void on_link_up(peer which) override;
  void on_link_down(peer which, const error& why) override;
  void on_link_refused(peer which, const error& why) override;
  void on_link_blocked(std::string_view reason) override;
  void on_link_unblocked() override;
  void on_deaf(const std::string& why) override { report_.deaf(why); }
  void on_hearing_again() override { report_.hearing_again(); }

  bool may_lead(const leader& one) const override;
  std::vector<std::int64_t> led_shards() const override;
  void on_led(leader& one, const shard_view& what) override;
  void on_gave_up(int shard) override;
  void on_relays_counted(int relays) override { relays_ = std::max(1, relays); }
  bool has_too_many(const leader& one) const override;
  bool counts_relays(const leader& one) const override { return &one == leaders_.front().get(); }
  void on_published(std::size_t events) override { totals_.published += events; }
  void on_failed(const event& which, const flow::failure_record& how) override;
  void on_deferred(std::string_view reason) override { report_.deferred(reason); }
  void on_deferral_over() override { report_.deferral_over(); }
  void on_culprit(const std::string& words) override { report_.culprit(words); }
  void on_stands_by() override;
  void on_in_doubt(const std::vector<event_id>& ids) override { report_.in_doubt(ids); }
  void on_stuck(const event& which, const std::string& reason) override { report_.stuck(which, reason); }

  int led() const;
  int share() const { return (shards_ + relays_ - 1) / relays_; }
  void add_leader();
  void say_down(peer which, const error& why);
  void watch_deadlines();
  void close_lanes();
  void spawn(boost::asio::awaitable<void> activity, std::function<void()> then = nullptr);
  void stopped(bool clean);

  struct link_state {
    int wanted = 0;
    int up = 0;
    bool ever_up = false;  // all at once
    bool said_up = false;
    std::string said_down;
  };
  link_state& state_of(peer which) { return which == peer::database ? database_ : broker_; }

  // How far a stop has come.
  enum class stage {
    running,
    draining,  // leaders give up; confirms are awaited
    closing,   // only connections are left to be closed
  };

  boost::asio::io_context& io_;
  const relay_settings settings_;
  relay_report report_;
  flow::lanes lanes_;
  std::vector<std::unique_ptr<pipe>> pipes_;
  std::vector<std::unique_ptr<leader>> leaders_;
  boost::asio::steady_timer deadline_timer_;
  boost::asio::steady_timer grace_timer_;
  bool watching_ = false;
  bool said_stands_by_ = false;  // since it led last
  stage stage_ = stage::running;
  link_state database_;
  link_state broker_;
  std::function<void(bool)> on_stopped_;
  int active_ = 0;   // coroutines
  int leading_ = 0;  // of them, those of leaders
  int blocked_ = 0;  // connections
  int shards_ = 1;
  int relays_ = 1;
  std::optional<error> failure_;
  relay_totals totals_;
};

}  // namespace outboxd::relay
