// leader: drives a flow::leader on a session with PostgreSQL, and opens another one when that is lost.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "flow/leader.hpp"
#include "relay/culprit.hpp"
#include "relay/database_session.hpp"
#include "relay/figures.hpp"
#include "relay/link_observer.hpp"
#include "relay/reconnect_pause.hpp"
#include "relay/settings.hpp"
#include "relay/sleep_lock.hpp"
#include "relay/store_session.hpp"

namespace outboxd::relay {

// Whose leaders they are.
class leader_host : public link_observer {
 public:
  virtual void on_led(const shard_view& what) = 0;
  virtual void on_gave_up(int shard) = 0;
  // What the leader counts.
  virtual counts& so_far() = 0;
  // Who traces events, or null.
  virtual flow::step_observer* steps() = 0;
  virtual void on_failed(const event& which, const flow::destination& to,
                         const flow::failure_record& how) = 0;
  // PostgreSQL puts statements about events off for longer than a lock usually takes; and does them again.
  virtual void on_deferred(std::string_view reason) = 0;
  virtual void on_deferral_over() = 0;
  // Somebody's locks are in the way for long; once each.
  virtual void on_culprit(const std::string& words) = 0;
  // The outbox was migrated by the next version of this program, and this one works with it.
  virtual void on_newer_schema(std::int64_t version) = 0;
  // The server's queue of notifications has begun to fill, up to so much of it, or fills no longer.
  virtual void on_queue(bool fills, double usage) = 0;
  // For who asks for the lead.
  virtual void on_makes_way(const std::string& who) = 0;
  // Rows of shards were gone, and are made again.
  virtual void on_shards_mended(std::int64_t shards) = 0;
  // Other relays lead; once each time.
  virtual void on_stands_by() = 0;
  // The lead is given up without rest, and these were sent and are not marked.
  virtual void on_in_doubt(const std::vector<event_key>& keys) = 0;
  virtual void on_stuck(const event& which, const std::string& reason) = 0;
  // It is published, and somebody has changed its row since it was sent.
  virtual void on_changed_after_send(const event& which) = 0;
  // Other parts of the outbox are paused than before.
  virtual void on_pauses(const std::vector<flow::pause>& in_force) = 0;

 protected:
  ~leader_host() = default;
};

class leader {
 public:
  leader(const boost::asio::any_io_executor& on, const leader_settings& settings, flow::lanes& lanes,
         flow::fair_share& share, leader_host& host);

  // Connects, stands by, leads, reconnects, until stop().
  boost::asio::awaitable<void> run();

  // The settings that it was made with have changed: retries, routes, and how often it sweeps and polls.
  void adopt();

  // Of the outbox, once a session has been open.
  std::optional<payload_type> payload() const { return payload_; }

  // Gives the lead up in order; run() then returns.
  void stop();
  // Waits no longer for confirms.
  void abandon();
  // Ends the session at once.
  void cut();

  std::optional<int> leads() const { return flow_.leads(); }
  bool asleep() const { return flow_.asleep(); }
  bool hears() const { return flow_.hears(); }
  const flow::stream& events() const { return flow_.events(); }
  // While it leads: how full the server's queue of notifications is; and since when it fills.
  const flow::notify_queue& queue() const { return flow_.queue(); }
  using system_time = std::chrono::system_clock::time_point;
  std::optional<system_time> queue_fills_since() const { return queue_fills_since_; }
  // Since when notifications have not arrived; nothing: they do, or it is not known yet.
  std::optional<system_time> deaf_since() const { return deaf_since_; }
  const culprit_watch& culprits() const { return culprits_; }
  // Its latest turn: whatever it waits for is bounded by a timeout.
  std::chrono::steady_clock::time_point latest_turn() const { return latest_turn_; }

 private:
  using clock = std::chrono::steady_clock;
  using done = boost::asio::awaitable<result<void>>;

  boost::asio::awaitable<result<void>> open(pg::connection& link);
  boost::asio::awaitable<error> serve(pg::connection& link);
  void take_notifications(pg::connection& link);

  // One task, and what came of it. An error: the session is of no more use.
  done carry_out(pg::connection& link, flow::task::wait& what);
  done carry_out(pg::connection& link, flow::task::end_session& what);
  done carry_out(pg::connection& link, flow::task::ask_for_sleep& what);
  done carry_out(pg::connection& link, flow::task::give_back_sleep& what);
  done carry_out(pg::connection& link, flow::task::probe_contention& what);
  done carry_out(pg::connection& link, flow::task::end_hanging_leaders& what);
  done carry_out(pg::connection& link, flow::task::end_former_sleeper& what);
  done carry_out(pg::connection& link, flow::task::name_lock_holders& what);
  done carry_out(pg::connection& link, flow::task::mend_shards& what);
  done carry_out(pg::connection& link, flow::task::listen& what);
  done carry_out(pg::connection& link, flow::task::stop_listening& what);
  done carry_out(pg::connection& link, flow::task::release_lead& what);
  done carry_out(pg::connection& link, flow::task::allow_writes& what);
  done carry_out(pg::connection& link, flow::task::show_presence& what);
  done carry_out(pg::connection& link, flow::task::take_lead& what);
  done carry_out(pg::connection& link, flow::task::load& what);
  done carry_out(pg::connection& link, flow::task::look_for_request& what);
  done carry_out(pg::connection& link, flow::task::count_relays& what);
  done carry_out(pg::connection& link, flow::task::notify_self& what);
  done carry_out(pg::connection& link, flow::task::ask_queue_usage& what);
  done carry_out(pg::connection& link, flow::task::round_trip& what);

  boost::asio::awaitable<result<pg::rows>> ask(pg::connection& link, std::string sql);
  // False: not now.
  boost::asio::awaitable<result<bool>> notify(pg::connection& link);

  void on_notice(const flow::leader_notice& what);
  void take(const flow::notice::leads& what);
  void take(const flow::notice::gave_up& what);
  void take(const flow::notice::stands_by& what);
  void take(const flow::notice::makes_way& what);
  void take(const flow::notice::swept& what);
  void take(const flow::notice::rung& what);
  void take(const flow::notice::deferred& what);
  void take(const flow::notice::deferral_over& what);
  void take(const flow::notice::deaf& what);
  void take(const flow::notice::hears_again& what);
  void take(const flow::notice::queue& what);
  void take(const flow::notice::in_doubt& what);
  void take(const flow::notice::kept& what);
  void take(const flow::notice::loudest& what);

  flow::stream_hooks stream_hooks();
  void count_published(std::size_t events, const std::string& route);
  void count(const flow::store_request& what, clock::time_point asked_at);
  void on_sleep_lock(sleep_news news);
  void interrupt();
  std::string own_probe() const;

  boost::asio::any_io_executor executor_;
  const leader_settings& settings_;
  leader_host& host_;
  reconnect_pause pause_;
  flow::leader flow_;
  culprit_watch culprits_;
  std::shared_ptr<sleep_lock> sleep_lock_;  // while it leads
  pg::connection* current_ = nullptr;
  server_session session_;  // the latest one
  shard_view view_;
  std::optional<payload_type> payload_;  // of the outbox, once a session has been open
  std::optional<system_time> queue_fills_since_;
  std::optional<system_time> deaf_since_;
  clock::time_point latest_turn_ = clock::now();
};

}  // namespace outboxd::relay
