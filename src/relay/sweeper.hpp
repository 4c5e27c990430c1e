// sweeper: looks at the table for what is due and for what nobody else would free.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <string>

#include "pg/connection.hpp"
#include "relay/claim_floors.hpp"
#include "relay/database_session.hpp"

namespace outboxd::relay {

class sweeper {
 public:
  sweeper(const postgres_settings& settings, std::chrono::milliseconds interval, claim_floors& floors)
      : settings_(settings), interval_(interval), floors_(floors) {}

  // For a new session: its settings, and a trial: may this user sweep?
  boost::asio::awaitable<result<void>> begin(pg::connection& link, session_kind kind);

  struct finding {
    bool work = false;                  // there are events to claim
    bool unannounced = false;           // and they have not just become due
    bool silence_is_over = false;       // before it looked
    bool contended = false;             // a commit waits for another one's notification
    bool moved = false;                 // the session is not the one of the greeting
    std::chrono::milliseconds next{0};  // how long to wait for the next sweep
  };

  // probe_channel: where it also sends a notification to; none if empty. check_silence: asks before it looks.
  boost::asio::awaitable<result<finding>> sweep(pg::connection& link, std::string probe_channel,
                                                bool check_silence);

 private:
  using time_point = std::chrono::steady_clock::time_point;

  // Runs one statement behind the steps, as the kind of session wants it.
  // The answers to all, from the first on.
  boost::asio::awaitable<result<std::vector<pg::rows>>> look(pg::connection& link, pg::pipeline before,
                                                             std::vector<std::string> sql);

  // Returns whether it freed some.
  boost::asio::awaitable<result<bool>> release_orphans(pg::connection& link);

  const postgres_settings& settings_;
  std::chrono::milliseconds interval_;
  claim_floors& floors_;
  session_kind kind_ = session_kind::own;
  time_point next_release_;  // of orphans
  time_point next_search_;   // of events that are pending where no claim looks
  std::string searched_;     // so far, see sweep in sql/
};

}  // namespace outboxd::relay
