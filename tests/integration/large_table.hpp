// pretend_large: an outbox of a few rows that PostgreSQL takes for a large one.
#pragma once

#include <string>

#include "support/database.hpp"

namespace outboxd::test {

/// PostgreSQL's statistics say that the table, or its only partition with rows, has 5,000,000 rows: too many
/// to be counted.
inline void pretend_large(database& session) {
  const auto table = session.value("SELECT DISTINCT tableoid::regclass FROM outbox.event");
  session.exec("ALTER TABLE " + table + " SET (autovacuum_enabled = off)");  // it would analyze the table
  session.exec("ANALYZE outbox.event");
  session.exec("UPDATE pg_class SET reltuples = 5000000 WHERE oid = $1::regclass", {table});
}

}  // namespace outboxd::test
