// kept_session: a database session that is reopened whenever it is lost, until it is stopped.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <functional>
#include <string>

#include "relay/database_session.hpp"
#include "relay/link_observer.hpp"
#include "relay/reconnect_pause.hpp"

namespace outboxd::relay {

// Returns true if the session is still usable after the error, for example if a lock, a full disk, or a
// user's trigger or foreign key caused the error. A read-only server is noticed when a session is opened, not
// here.
bool is_of_the_statement(const std::string& sqlstate);

// Runs work next to the stream, in a session of its own.
class kept_session {
 public:
  using clock = std::chrono::steady_clock;
  // The work in one session. It returns after an error of the session, or when stopping() is true.
  using service = std::function<boost::asio::awaitable<result<void>>(pg::connection&)>;

  // `tell`: receives the reason why a session was refused or lost. Null if the reports of the stream's
  // session suffice.
  kept_session(const boost::asio::any_io_executor& on, const postgres_settings& settings,
               link_observer* tell = nullptr);

  // Runs until stop().
  boost::asio::awaitable<void> run(service serve);
  bool stopping() const { return stopping_; }
  // Waits until `until`, or until the session or this object stops.
  boost::asio::awaitable<void> rest(pg::connection& link, clock::time_point until);
  // Call this when the session has been useful: the pause after the next loss is short again.
  void reset_pause() { pause_.reset(); }
  // Ends a wait on the current session.
  void interrupt();
  void stop();

 private:
  boost::asio::any_io_executor executor_;
  const postgres_settings& settings_;
  link_observer* const tell_;
  reconnect_pause pause_;
  pg::connection* current_ = nullptr;
  bool stopping_ = false;
};

}  // namespace outboxd::relay
