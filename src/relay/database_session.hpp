// database_session: opens a session with the outbox's database, and refuses unsuitable servers.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstdint>
#include <string>

#include "pg/connection.hpp"
#include "pg/schema_name.hpp"
#include "relay/settings.hpp"
#include "store/relay_statements.hpp"

namespace outboxd::relay {

enum class session_use {
  stream,  // reads and marks: nothing on it waits for a lock for long
  // Waits for an advisory lock, then holds it while idle. Waiting holds a snapshot and so holds back vacuum,
  // but only while another session holds the lock.
  lock,
};

// What a session finds.
struct outbox_facts {
  payload_type payload = payload_type::jsonb;
  std::int64_t version = store::schema_version;  // of the schema
  store::open_to_all may;                        // what this user may use
  std::string goes_without;                      // missing rights, and the GRANT; empty: none
};

// Refused for good: a server older than 14, a pooler that changes the session between transactions, a
// schema that this version does not know. A standby or a read-only server is refused
// for now: it comes back as a primary, or another host does. For `lock` nothing is found.
boost::asio::awaitable<result<outbox_facts>> open_session(pg::connection& link, const postgres_settings& with,
                                                          session_use use);

// The server's number for the session. Behind a pooler it is not the one of the greeting
// (pg::connection::backend_pid).
boost::asio::awaitable<result<int>> server_process(pg::connection& link, const postgres_settings& with);

// Refuses (permanent) a pooler that changes the session between transactions. `pid`: what pg_backend_pid()
// says on the session.
boost::asio::awaitable<result<void>> prove_own_session(pg::connection& link, const postgres_settings& with,
                                                       std::string pid);

// Refuses (permanent) a schema that this version does not work with; 0: there is none. It works with its own
// and the next one: a schema is migrated before its relays are replaced.
result<void> check_version(const pg::schema_name& schema, std::int64_t version);

// Why a session with a server that wants no writes is closed.
error is_read_only(const pg::connection& link);

// Ends the session of a leader that has stopped half-way through a statement, or whose statement waits for
// something that no timeout ends, such as a lost standby server: the session's own timeout runs only between
// statements. Only sessions of the same user are ended.
boost::asio::awaitable<result<void>> end_hanging_leaders(pg::connection& link, const postgres_settings& with);

// A session as the server knows it. Process numbers are reused, so the start time belongs to it.
struct server_session {
  int pid = 0;
  std::string began;  // seconds since 1970
};

// Ends this one's predecessor at the server if it still exists: this process has closed it, but the server
// may not have noticed. Returns this session.
boost::asio::awaitable<result<server_session>> succeed(pg::connection& link, const postgres_settings& with,
                                                       const server_session& former, store::open_to_all may);

// Called by the new leader of the shard: ends the session that holds SLEEP for a hung leader that has lost
// the lead. That session has no timeout of its own, because a healthy leader may be idle for days. `own` is
// the server's process of the session that is to have SLEEP.
boost::asio::awaitable<result<void>> end_former_sleeper(pg::connection& link, const postgres_settings& with,
                                                        int shard, int own);

}  // namespace outboxd::relay
