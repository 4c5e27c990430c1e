// leader: drives a flow::leader on a PostgreSQL session, and opens a new session when the old one is lost.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "flow/lead/leader.hpp"
#include "relay/database_session.hpp"
#include "relay/figures.hpp"
#include "relay/link_observer.hpp"
#include "relay/lock_holders.hpp"
#include "relay/notices.hpp"
#include "relay/reconnect_pause.hpp"
#include "relay/settings.hpp"
#include "relay/sleep_lock.hpp"
#include "store/store_session.hpp"

namespace outboxd::relay {

// The owner of the leaders.
class leader_host : public link_observer {
 public:
  virtual void tell(const relay_notice& what) = 0;
  // The counters that the leader updates.
  virtual counts& so_far() = 0;
  // The observers that trace events.
  virtual const flow::step_observers& steps() const = 0;

 protected:
  ~leader_host() = default;
};

class leader {
 public:
  leader(const boost::asio::any_io_executor& on, const leader_settings& settings, flow::lanes& lanes,
         flow::fair_share& share, leader_host& host);

  // Connects, stands by, leads and reconnects, until stop().
  boost::asio::awaitable<void> run();

  // Adopts changed settings: retries, routes, and poll intervals.
  void adopt();

  // The outbox's payload type. nullopt until a session has been opened.
  std::optional<payload_type> payload() const { return payload_; }

  // Gives up the lead in an orderly way; then run() returns.
  void stop();
  // Stops waiting for confirms.
  void abandon();
  // Ends the session immediately.
  void cut();

  std::optional<int> leads() const { return flow_.leads(); }
  bool asleep() const { return flow_.asleep(); }
  const flow::stream& events() const { return flow_.events(); }
  // While the leader leads: the usage of the server's notification queue, from 0 to 1, and the time since
  // which the queue has been filling up.
  double queue_usage() const { return flow_.queue_usage(); }
  using system_time = std::chrono::system_clock::time_point;
  std::optional<system_time> queue_fills_since() const { return queue_fills_since_; }
  // The time since which notifications have not arrived; nullopt: they arrive, or nothing is known yet.
  std::optional<system_time> deaf_since() const { return deaf_since_; }
  const lock_holder_watch& lock_holders() const { return lock_holders_; }
  // The time at which the leader's loop last began a turn. Every wait in the loop has a timeout.
  std::chrono::steady_clock::time_point latest_turn() const { return latest_turn_; }

 private:
  using clock = std::chrono::steady_clock;
  using done = boost::asio::awaitable<result<void>>;

  boost::asio::awaitable<result<void>> open(pg::connection& link);
  boost::asio::awaitable<error> serve(pg::connection& link);
  void count_senders(pg::connection& link);
  void take_notifications(pg::connection& link);

  // Runs one task and returns its result. After an error, the session is unusable.
  done carry_out(pg::connection& link, flow::task::wait& what);
  done carry_out(pg::connection& link, flow::task::end_session& what);
  done carry_out(pg::connection& link, flow::task::use_sleep_lock& what);
  done carry_out(pg::connection& link, flow::task::end_hanging_leaders& what);
  done carry_out(pg::connection& link, flow::task::end_former_sleeper& what);
  done carry_out(pg::connection& link, flow::task::look_for_lock_holders& what);
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
  // Returns false if the notification could not be sent at present.
  boost::asio::awaitable<result<bool>> notify(pg::connection& link);

  // Passes a notice to the relay.
  template <class Notice>
  void take(const Notice& what) {
    host_.tell(what);
  }
  void take(const flow::notice::wake_driver& what);
  void take(const flow::notice::published& what);
  void take(const flow::notice::delivered& what);
  void take(const flow::notice::leads& what);
  void take(const flow::notice::gave_up& what);
  void take(const flow::notice::swept& what);
  void take(const flow::notice::rung& what);
  void take(const flow::notice::deaf& what);
  void take(const flow::notice::hears_again& what);
  void take(const flow::notice::queue& what);
  void take(const flow::notice::kept& what);
  void take(const flow::notice::loudest& what);

  void measure_by_settings();
  void count(const flow::store_request& what, clock::time_point asked_at);
  void on_sleep_lock(sleep_news news);
  void interrupt();
  std::string own_probe() const;

  boost::asio::any_io_executor executor_;
  const leader_settings& settings_;
  leader_host& host_;
  reconnect_pause pause_;
  flow::leader flow_;
  lock_holder_watch lock_holders_;
  std::shared_ptr<sleep_lock> sleep_lock_;  // set while the leader leads
  pg::connection* current_ = nullptr;
  server_session session_;  // the last session
  store::open_to_all may_;  // privileges of the session's user
  store::shard_view view_;
  std::optional<payload_type> payload_;  // of the outbox, known after the first session was opened
  std::optional<system_time> queue_fills_since_;
  std::optional<system_time> deaf_since_;
  clock::time_point latest_turn_ = clock::now();
};

}  // namespace outboxd::relay
