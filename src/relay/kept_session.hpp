// kept_session: a session with the database that is opened anew whenever it is lost, until it is stopped.
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

// After an error by a lock, a full disk, or a user's trigger or foreign key, the session is still usable.
// Read-only servers are found when a session is opened.
bool is_of_the_statement(const std::string& sqlstate);

// For work beside the stream.
class kept_session {
 public:
  using clock = std::chrono::steady_clock;
  // The work on one session. It ends at an error of the session, or once stopping().
  using service = std::function<boost::asio::awaitable<result<void>>(pg::connection&)>;

  // tell: learns why a session was refused or lost; null where the stream's session says enough.
  kept_session(const boost::asio::any_io_executor& on, const postgres_settings& settings,
               link_observer* tell = nullptr);

  // Until stop().
  boost::asio::awaitable<void> run(service serve);
  bool stopping() const { return stopping_; }
  // Until then, or until the session or this one ends.
  boost::asio::awaitable<void> rest(pg::connection& link, clock::time_point until);
  // The session has proved useful: after the next loss the wait is short again.
  void reset_pause() { pause_.reset(); }
  // Ends a wait on its session.
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
