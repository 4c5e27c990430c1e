// listener: LISTEN on a session, and the proof that notifications arrive there.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <memory>
#include <string>

#include "pg/connection.hpp"
#include "relay/database_session.hpp"
#include "relay/link_observer.hpp"
#include "relay/listen_probe.hpp"

namespace outboxd::relay {

class listener {
 public:
  using time_point = std::chrono::steady_clock::time_point;

  listener(const boost::asio::any_io_executor& on, const postgres_settings& settings,
           link_observer& observer);
  ~listener();

  // Listens on a new session; look at the table after that. Through a pooler only to the probe, until that has
  // arrived: a LISTEN that outlives its transaction in somebody else's session would do harm there.
  boost::asio::awaitable<result<void>> begin(pg::connection& link, session_kind kind);

  // The session is gone.
  void end();

  // Takes the notifications that have arrived, and does what the probe needs. Returns how many say that there may be
  // work.
  boost::asio::awaitable<result<int>> attend(pg::connection& link, time_point next_sweep);

  // The channel of a probe that the next sweep has to send; empty if none is due.
  std::string take_probe();

  // When to attend() although nothing has arrived.
  time_point next(time_point next_sweep) const;

  bool hears() const { return probe_.hears(); }
  bool deaf() const { return probe_.deaf(); }

  void stop();

 private:
  struct errand;

  boost::asio::awaitable<result<void>> listen(pg::connection& link);
  boost::asio::awaitable<result<int>> take(pg::connection& link);
  boost::asio::awaitable<result<int>> overdue(pg::connection& link);
  boost::asio::awaitable<result<void>> send_probe(pg::connection& link);
  static boost::asio::awaitable<void> run(std::shared_ptr<errand> what, std::string url, std::string channel);
  boost::asio::awaitable<result<void>> execute(pg::connection& link, pg::pipeline steps) const;

  boost::asio::any_io_executor executor_;
  const postgres_settings& settings_;
  link_observer& observer_;
  listen_probe probe_{probe_limits{}};
  session_kind kind_ = session_kind::own;
  std::string channel_;   // of the probe: nobody else's
  bool listens_ = false;  // to the outbox, not to the probe alone
  int deaf_in_a_row_ = 0;
  std::shared_ptr<errand> errand_;
};

}  // namespace outboxd::relay
