// partitioned: outboxes of one layout, whatever OUTBOXD_TEST_PARTITION says, and what is done to partitions
// instead of waiting for a day.
#pragma once

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstdlib>
#include <string>

#include "stage.hpp"

namespace outboxd::test {

inline constexpr std::int64_t partition_width = std::int64_t{1} << 32;

class unpartitioned_stage : public stage {
 public:
  explicit unpartitioned_stage(stage_options options = {}) : unpartitioned_stage{options, without_period()} {}

 private:
  static std::string without_period() {
    const char* const period = std::getenv("OUTBOXD_TEST_PARTITION");
    std::string out = period == nullptr ? "" : period;
    ::unsetenv("OUTBOXD_TEST_PARTITION");
    return out;
  }
  unpartitioned_stage(const stage_options& options, const std::string& period) : stage{options} {
    if (!period.empty()) ::setenv("OUTBOXD_TEST_PARTITION", period.c_str(), 1);
  }
};

class partitioned_stage : public unpartitioned_stage {
 public:
  partitioned_stage() {
    const auto done = run_outboxd({"migrate", "--partition", "daily"}, variables());
    REQUIRE_MESSAGE(done.exited(0), done.text());
  }
};

/// The number of the partition that is written to.
inline std::int64_t current_partition(database& session) {
  return session.number("SELECT max(number) FROM outbox.event_partition WHERE began_at IS NOT NULL");
}

/// As if every partition had begun this much earlier.
inline void age_partitions(database& session, const std::string& by) {
  session.exec("UPDATE outbox.event_partition SET began_at = began_at - $1::interval", {by});
}

/// A day later: what the relay does once a minute.
inline result_rows rotate_partition(database& session) {
  age_partitions(session, "25 h");
  return session.exec("SELECT what, number FROM outbox.rotate_partition()");
}

inline std::int64_t attached_partitions(database& session) {
  return session.number("SELECT count(*) FROM pg_inherits WHERE inhparent = 'outbox.event'::regclass");
}

/// Of either layout.
inline void stop_autovacuum(database& session) {
  for (const auto& row :
       session.exec("SELECT c.oid::regclass FROM pg_class AS c WHERE c.relkind = 'r' AND"
                    " (c.oid = 'outbox.event'::regclass OR c.oid IN (SELECT i.inhrelid"
                    " FROM pg_inherits AS i WHERE i.inhparent = 'outbox.event'::regclass))"))
    session.exec(fmt::format("ALTER TABLE {} SET (autovacuum_enabled = off)", *row[0]));
}

}  // namespace outboxd::test
