// database_session: opens a connection to the outbox's database and finds out what it has reached.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>

#include "pg/connection.hpp"
#include "pg/outbox_statements.hpp"
#include "pg/schema_name.hpp"
#include "relay/secret.hpp"

namespace outboxd::relay {

struct postgres_settings {
  secret url;
  pg::schema_name schema;
  std::chrono::milliseconds connect_timeout{10'000};
  std::chrono::milliseconds claim_timeout{30'000};
  int batch = 1'500;
  std::int64_t batch_bytes = 8'000'000;
  int shards_per_claim = 16;  // of a claim that leaves some for the other lanes
  pg::after_publish after_publish = pg::after_publish::keep;
};

enum class session_kind {
  own,  // one server process for as long as the connection lasts
  pooled,  // a pooler in between: the next transaction may be in another one's session. Nothing is left there: no
           // prepared statement, no setting, no LISTEN.
};

// A standby or a read-only server is refused: it comes back as a primary, or another host does.
boost::asio::awaitable<result<session_kind>> open_session(pg::connection& link,
                                                          const postgres_settings& with);

// For a server that was writable and is no more.
error now_read_only(const pg::connection& link);

}  // namespace outboxd::relay
