// lock_holder: finds the sessions whose locks keep a relay from leading, being idle or writing, or the rule
// or trigger that swallows its changes; searches after a while, and reports each once.
#pragma once

#include <array>
#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "core/event.hpp"
#include "flow/stream/notices.hpp"
#include "pg/connection.hpp"
#include "pg/schema_name.hpp"

namespace outboxd::relay {

// A session whose lock is in the way.
struct lock_holder {
  int pid = 0;  // 0: a prepared transaction
  std::string words;
};

// The sessions that now hold the lead of a shard without being a responsive relay, or a lock on the table
// that blocks marks. Runs on a session with the relay's statements; returns at most one of each.
boost::asio::awaitable<result<std::vector<lock_holder>>> lock_holders_now(
    pg::connection& link, const pg::schema_name& schema, std::chrono::milliseconds claim_timeout);

// Who keeps the server's queue of notifications from being emptied, at this moment: the process that the
// server has named, or 0. Nobody: nothing.
boost::asio::awaitable<result<std::optional<lock_holder>>> queue_holder_now(pg::connection& link,
                                                                            const pg::schema_name& schema,
                                                                            int process);

using flow::kept_from;

// PostgreSQL has no lock that only a relay could take, and any user may lock what he may see or change. So
// who does it for ten seconds is named. A session is named if two searches in succession find it.
class lock_holder_watch {
 public:
  using clock = std::chrono::steady_clock;

  // claim_timeout: a relay that is not heard of for so long leads no more, whatever its session holds.
  lock_holder_watch(const pg::schema_name& schema, std::chrono::milliseconds claim_timeout)
      : schema_(schema), claim_timeout_(claim_timeout) {}

  // Whether it is kept from this now.
  void set(kept_from what, bool kept, clock::time_point now);

  // The process at the server that floods the channel with notifications; 0: nobody does.
  void set_loudest(int process, clock::time_point now);

  // The process at the server that holds up its queue of notifications, as it says itself; 0: it does not.
  void set_queue_holder(int process) { queue_holder_ = process; }
  // The latest search has found it.
  bool knows_queue_holder() const { return of(kept_from::ringing).seen.ends_with(" 1"); }

  bool due(clock::time_point now) const;

  // Who has been named and still keeps it from leading or writing. One that only cannot sleep does its work.
  struct named {
    std::string which;
    std::string words;
    std::chrono::system_clock::time_point since;
  };
  const named* in_the_way() const;
  // Who keeps the server's queue of notifications from being emptied.
  const named* holds_queue() const {
    const auto& still = of(kept_from::ringing).still;
    return still ? &*still : nullptr;
  }

  // Looks for whoever it is, on a session with the relay's statements, and returns what there is to say.
  // shard: that it leads; unwritten: events that it has to write.
  boost::asio::awaitable<result<std::vector<std::string>>> search(pg::connection& link, int shard,
                                                                  std::vector<event_key> unwritten);

  // Who asks for the lead of this shard, and may have it, in words.
  boost::asio::awaitable<result<std::optional<std::string>>> requester(pg::connection& link, int shard);

 private:
  friend boost::asio::awaitable<result<std::vector<lock_holder>>> lock_holders_now(pg::connection&,
                                                                                   const pg::schema_name&,
                                                                                   std::chrono::milliseconds);
  friend boost::asio::awaitable<result<std::optional<lock_holder>>> queue_holder_now(pg::connection&,
                                                                                     const pg::schema_name&,
                                                                                     int);
  struct watch {
    std::optional<clock::time_point> next_search;  // while it is kept from it
    std::string seen;                              // by the latest search: the session and its lock
    std::optional<named> still;                    // whom it has named, while the searches find him
  };
  struct sighting {
    std::string which;
    std::string words;
    int pid = 0;
  };

  watch& of(kept_from what) { return watches_[static_cast<std::size_t>(what)]; }
  const watch& of(kept_from what) const { return watches_[static_cast<std::size_t>(what)]; }
  boost::asio::awaitable<result<std::optional<sighting>>> find(pg::connection& link, kept_from what,
                                                               int shard, std::vector<event_key> unwritten);
  boost::asio::awaitable<result<std::optional<sighting>>> ask(pg::connection& link,
                                                              std::string_view statement,
                                                              std::vector<std::string> parameters);
  boost::asio::awaitable<result<std::optional<sighting>>> find_swallower(pg::connection& link);
  std::vector<std::string> of_leads() const;
  std::string words_for(std::string_view statement, std::int64_t number, std::string_view mode,
                        const std::string& who, const std::optional<std::string>& waits_for) const;

  const pg::schema_name& schema_;
  std::chrono::milliseconds claim_timeout_;
  std::array<watch, 5> watches_;
  int loudest_ = 0;
  int queue_holder_ = 0;
};

}  // namespace outboxd::relay
