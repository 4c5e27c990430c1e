// old_rows: events and records of consumers that are old enough to be deleted, or not yet.
#pragma once

#include <string>

#include "stage.hpp"

namespace outboxd::test {

// `count` events of this status, created so long ago, and published then if they are.
inline void add_old(database& session, const stage& on, const std::string& status, const std::string& age,
                    int count = 1) {
  session.exec(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload, status, exception,"
      " created_at, published_at, available_at)"
      " SELECT 'order', n, $1, '{}', $2::outbox.event_status,"
      " CASE $2 WHEN 'dead' THEN 'dead' WHEN 'waiting' THEN 'scheduled' END::outbox.event_exception,"
      " now() - $3::interval,"
      " CASE WHEN $2 = 'published' THEN now() - $3::interval END,"
      " CASE WHEN $2 = 'waiting' THEN now() + interval '1 h' ELSE now() END FROM generate_series(1, $4::int) "
      "AS n",
      {on.key(), status, age, std::to_string(count)});
}

inline void add_processed(database& session, const std::string& age, int count) {
  session.exec(
      "INSERT INTO outbox.processed_event SELECT 'consumer', gen_random_uuid(), now() - $1::interval"
      " FROM generate_series(1, $2::int)",
      {age, std::to_string(count)});
}

}  // namespace outboxd::test
