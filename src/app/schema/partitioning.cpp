#include "app/schema/partitioning.hpp"

#include <fmt/format.h>

#include <chrono>
#include <thread>

#include "core/text.hpp"
#include "pg/blocking_session.hpp"
#include "pg/connection_string.hpp"
#include "pg/sqlstate.hpp"

namespace outboxd::app {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view lock_wait = "100ms";
// The wait for a lock that conflicts only with vacuum, ANALYZE and DDL, so that no writer or reader waits
// behind it. An autovacuum yields after deadlock_timeout, 1 s by default. While the autovacuum runs, no other
// lock on the table can be acquired within lock_wait.
constexpr std::string_view vacuum_wait = "5s";
constexpr auto between_lock_tries = 300ms;
constexpr auto longest_wait = 60s;

error partitioning_refusal(const pg::refusal& why) {
  constexpr std::string_view what = "the outbox is not partitioned";
  if (why.sqlstate == "42501" || why.sqlstate == "42P01")
    return {fault::permanent, fmt::format("{}: {} (SQLSTATE {}); run it as the user who owns the outbox",
                                          what, why.words, why.sqlstate)};
  if (pg::is_lock_timeout(why.sqlstate))
    return {fault::transient, fmt::format("{}: others hold locks that it needs; try again", what)};
  return {fault::permanent, why.sqlstate.empty()
                                ? fmt::format("{}: {}", what, why.words)
                                : fmt::format("{}: {} (SQLSTATE {})", what, why.words, why.sqlstate)};
}

class partition_conversion {
 public:
  partition_conversion(const pg::schema_name& schema,
                       const std::function<void(const std::string& progress)>& say)
      : schema_(schema.identifier()), say_(say) {}

  result<void> open(const std::string& connection_string) {
    if (const auto opened = session_.open(connection_string, "outboxd migrate"); !opened) return opened;
    return {};
  }

  // The period; empty if the outbox is not partitioned.
  result<std::string> period() {
    const auto found = session_.execute(fmt::format("SELECT p.period FROM {}.partitioning AS p", schema_));
    if (!found) return tl::make_unexpected(partitioning_refusal(found.error()));
    return found->size() == 0 ? std::string() : std::string(found->at(0, 0));
  }

  // Reports everything that prevents the table from becoming a partition, and what to do about it.
  result<void> look_for_obstacles() {
    const auto found = session_.execute(
        fmt::format("SELECT o.obstacle, o.remedy FROM {}.partition_obstacles() AS o", schema_));
    if (!found) return tl::make_unexpected(partitioning_refusal(found.error()));
    if (found->size() == 0) return {};
    std::string words = fmt::format("{}.event cannot be partitioned:", schema_);
    for (int i = 0; i < found->size(); ++i)
      words += fmt::format("\n  {}: {}", pg::one_line(found->at(i, 0)), pg::one_line(found->at(i, 1)));
    return permanent(words);
  }

  // Runs the statement in its own transaction, and retries while other sessions hold the locks that it needs.
  result<void> patiently(const std::string& statement, bool without_vacuum = true) {
    const auto deadline = std::chrono::steady_clock::now() + longest_wait;
    const auto first =
        without_vacuum
            ? fmt::format(
                  "SET LOCAL lock_timeout = '{}'; LOCK TABLE {}.event IN SHARE UPDATE EXCLUSIVE MODE; ",
                  vacuum_wait, schema_)
            : std::string();
    for (bool said = false;;) {
      // Set explicitly, because the role or the database may have its own settings.
      const auto done = session_.execute(
          fmt::format("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; SET LOCAL statement_timeout = 0;"
                      " {}SET LOCAL lock_timeout = '{}'; SET LOCAL client_min_messages = warning; {}; COMMIT",
                      first, lock_wait, statement));
      if (done) return {};
      if (const auto back = session_.execute("ROLLBACK"); !back)
        return tl::make_unexpected(partitioning_refusal(done.error()));
      if (!pg::is_lock_timeout(done.error().sqlstate) || std::chrono::steady_clock::now() >= deadline)
        return tl::make_unexpected(partitioning_refusal(done.error()));
      if (!std::exchange(said, true))
        say_(fmt::format("others hold locks of {}.event that migrate needs; trying again", schema_));
      std::this_thread::sleep_for(between_lock_tries);
    }
  }

 private:
  std::string schema_;
  const std::function<void(const std::string& progress)>& say_;
  pg::blocking_session session_;
};

std::string prepare_sql(const pg::schema_name& schema) {
  return fmt::format("SELECT {}.prepare_partitions()", schema.identifier());
}
std::string validate_sql(const pg::schema_name& schema) {
  return fmt::format("ALTER TABLE {}.event VALIDATE CONSTRAINT event_in_first_partition",
                     schema.identifier());
}
// If the constraint stayed, writers would eventually reach its bound, beyond which there are no partitions.
std::string undo_sql(const pg::schema_name& schema) {
  return fmt::format("ALTER TABLE {}.event DROP CONSTRAINT IF EXISTS event_in_first_partition",
                     schema.identifier());
}
std::string partition_sql(const pg::schema_name& schema, const std::string& period) {
  return fmt::format("SELECT {}.partition_by('{}')", schema.identifier(), period);
}

// Drops the constraint, which only the later steps need. Uses a new session, because the old one may be lost.
error undone(error why, const std::string& connection_string, const pg::schema_name& schema,
             const std::function<void(const std::string& progress)>& say) {
  partition_conversion back(schema, say);
  auto done = back.open(connection_string);
  if (done) done = back.patiently(undo_sql(schema), false);
  if (!done) why.message += fmt::format("; {};  -- is left to be done", undo_sql(schema));
  return why;
}

}  // namespace

bool is_partition_period(std::string_view name) {
  return name == "daily" || name == "hourly";
}

result<partition_result> partition_outbox(const std::string& connection_string, const pg::schema_name& schema,
                                          const std::string& period,
                                          const std::function<void(const std::string& progress)>& say) {
  partition_conversion conversion(schema, say);
  OUTBOXD_TRY_VOID(conversion.open(connection_string));
  OUTBOXD_TRY(const auto before, conversion.period());
  partition_result out{before, period};
  if (before == period) return out;
  if (before.empty()) {
    OUTBOXD_TRY_VOID(conversion.look_for_obstacles());
    for (const auto& step : {prepare_sql(schema), validate_sql(schema)})
      if (const auto done = conversion.patiently(step); !done)
        return tl::make_unexpected(undone(done.error(), connection_string, schema, say));
  }
  if (const auto done = conversion.patiently(partition_sql(schema, period), before.empty()); !done)
    return tl::make_unexpected(before.empty() ? undone(done.error(), connection_string, schema, say)
                                              : done.error());
  return out;
}

std::string partition_script(const pg::schema_name& schema, const std::string& period) {
  return fmt::format(
      "\n-- Partitions. Each of these is a transaction of its own. Writers wait for the third alone, "
      "and shortly.\n{};\n{};\n{};\n",
      prepare_sql(schema), validate_sql(schema), partition_sql(schema, period));
}

}  // namespace outboxd::app
