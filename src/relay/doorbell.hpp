// doorbell: says when there may be work: it listens, sweeps, and under load has the writers keep silent and looks unasked.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>

#include "core/doorbell_policy.hpp"
#include "pg/connection.hpp"
#include "relay/database_session.hpp"
#include "relay/link_observer.hpp"
#include "relay/listener.hpp"
#include "relay/mute_lock.hpp"
#include "relay/reconnect_pause.hpp"
#include "relay/sweeper.hpp"

namespace outboxd::relay {

class doorbell {
 public:
  static constexpr int sessions = 2;

  // ring: called when there may be work.
  doorbell(const boost::asio::any_io_executor& on, const postgres_settings& settings,
           std::chrono::milliseconds sweep_interval, claim_floors& floors, link_observer& observer,
           std::function<void()> ring);

  // LISTEN, then a full sweep, then a ring for every notification and a sweep at every interval; again after
  // each reconnect, until stop().
  boost::asio::awaitable<void> run();

  // While there is no session, rings at every interval all the same: the table is the truth.
  boost::asio::awaitable<void> run_without_session();

  // The session with the lock that has the writers keep silent.
  boost::asio::awaitable<void> run_mute() { return mute_.run(); }

  // Rings unasked, when the policy says so.
  boost::asio::awaitable<void> run_looks();

  // A lane has claimed so many, while others hold what they have claimed or not. Does not ring at once.
  void on_looked(std::size_t events, bool others_hold);
  void on_marked(doorbell_policy::clock::duration took) { policy_.on_marked(took); }

  // It will ring again in a moment, whatever happens.
  bool rings_soon() const { return !quiet_ && policy_.looks_come(); }

  // Notifications are proven to arrive.
  bool hears() const { return listener_.hears(); }
  // The writers keep silent.
  bool muted() const { return policy_.now_in() == doorbell_policy::state::hot; }

  // The relay claims no more: it does not have the writers keep silent either.
  void quieten();

  // After that: wakes the other relays, for what this one has left or would have looked for, and ends.
  void stop();

 private:
  using clock = std::chrono::steady_clock;

  boost::asio::awaitable<result<void>> open(pg::connection& link);
  boost::asio::awaitable<error> serve(pg::connection& link);
  boost::asio::awaitable<result<std::chrono::milliseconds>> sweep(pg::connection& link);
  boost::asio::awaitable<void> hand_over(pg::connection& link);
  void on_mute(mute_news news);
  void act(const doorbell_actions& now);

  boost::asio::any_io_executor executor_;
  const postgres_settings& settings_;
  std::chrono::milliseconds interval_;
  link_observer& observer_;
  std::function<void()> ring_;
  doorbell_policy policy_;
  listener listener_;
  sweeper sweeper_;
  reconnect_pause pause_;
  mute_lock mute_;
  boost::asio::steady_timer timer_;
  boost::asio::steady_timer look_timer_;
  pg::connection* current_ = nullptr;
  session_kind kind_ = session_kind::own;  // of the session
  bool moved_ = false;                     // a session was found to be another one than before: for good
  clock::time_point waits_until_;          // while it waits; else long ago
  bool serving_ = false;
  bool quiet_ = false;
  bool stopping_ = false;
};

}  // namespace outboxd::relay
