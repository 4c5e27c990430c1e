// database_session: opens a session with the outbox's database, and rejects unsuitable servers.
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
  stream,  // reads and marks; its statements wait only briefly for locks
  // Waits for an advisory lock, then holds it while the session is idle. While waiting, the session has a
  // snapshot, which holds back vacuum, but only as long as another session holds the lock.
  lock,
};

// The facts that open_session finds in the database.
struct outbox_facts {
  payload_type payload = payload_type::jsonb;
  std::int64_t version = store::schema_version;  // version of the schema
  store::open_to_all may;                        // the default privileges that the user has
  std::string goes_without;                      // missing privileges, and the GRANT for them; empty: none
};

// Fails permanently for a server older than 14, a pooler that changes the session between transactions, and
// an unsupported schema version. Fails temporarily for a standby or read-only server, because the server may
// become the primary or another host may be the primary. For `lock`, the returned facts are empty.
boost::asio::awaitable<result<outbox_facts>> open_session(pg::connection& link, const postgres_settings& with,
                                                          session_use use);

// The process number of the session's server. Behind a pooler, it differs from the number sent at connection
// start (pg::connection::backend_pid).
boost::asio::awaitable<result<int>> server_process(pg::connection& link, const postgres_settings& with);

// Rejects (permanent) a pooler that changes the session between transactions. `pid`: the result of
// pg_backend_pid() in the session.
boost::asio::awaitable<result<void>> prove_own_session(pg::connection& link, const postgres_settings& with,
                                                       std::string pid);

// Rejects (permanent) a schema version that this program does not support; 0: there is no schema. The program
// supports its own version and the next one, because a schema is migrated before its relays are replaced.
result<void> check_version(const pg::schema_name& schema, std::int64_t version);

// Returns the error with which a session is closed if the server accepts no writes.
error is_read_only(const pg::connection& link);

// Ends the session of a leader that has stopped in the middle of a statement, or whose statement waits for
// something that no timeout ends, such as a lost standby. The server's timeout for idle sessions applies only
// between statements. Ends only sessions of the same user.
boost::asio::awaitable<result<void>> end_hanging_leaders(pg::connection& link, const postgres_settings& with);

// Identifies a session of a server. The start time is needed because process numbers are reused.
struct server_session {
  int pid = 0;
  std::string began;  // seconds since 1970
};

// Ends the previous session of this connection if the server still has it: this process has closed that
// session, but the server may not have noticed. Returns the current session.
boost::asio::awaitable<result<server_session>> succeed(pg::connection& link, const postgres_settings& with,
                                                       const server_session& former, store::open_to_all may);

// Called by the new leader of a shard: ends the session that holds SLEEP for a hung leader that has lost the
// lead. A session that holds SLEEP has no timeout of its own, because a healthy leader may be idle for days.
// `own`: the server process of the session that will hold SLEEP.
boost::asio::awaitable<result<void>> end_former_sleeper(pg::connection& link, const postgres_settings& with,
                                                        int shard, int own);

}  // namespace outboxd::relay
