// partition_checks: whether the partitions of the outbox follow each other as they should.
#include <fmt/format.h>

#include "app/check/checks.hpp"

namespace outboxd::app::check {
namespace {

// {0}: the schema as text, {1}: as identifier. One row, or none for an outbox that is not partitioned: its
// period, how many partitions are in use and how many are ready, one that was detached by hand, the name of
// the oldest one, since when, and whether something in it waits or is dead.
constexpr std::string_view partitions = R"(
WITH attached AS (
  SELECT p.number, p.began_at FROM {1}.event_partition AS p
  WHERE EXISTS (SELECT FROM pg_inherits AS i JOIN pg_class AS c ON c.oid = i.inhrelid
                WHERE i.inhparent = format('%I.event', {0})::regclass AND c.relname = 'event_p' || p.number)),
oldest AS (SELECT a.* FROM attached AS a WHERE a.began_at IS NOT NULL ORDER BY a.number LIMIT 1)
SELECT p.period, (SELECT count(*) FROM attached AS a WHERE a.began_at IS NOT NULL),
       (SELECT count(*) FROM attached AS a WHERE a.began_at IS NULL),
       (SELECT 'event_p' || min(d.number) FROM {1}.event_partition AS d
        WHERE NOT EXISTS (SELECT FROM attached AS a WHERE a.number = d.number)),
       'event_p' || o.number, to_char(o.began_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI "UTC"'),
       EXISTS (SELECT FROM {1}.event AS e
               WHERE e.exception IN ('scheduled', 'backing_off')
                 AND e.seq < least(o.number + 1, 2147483647) << 32)
       OR EXISTS (SELECT FROM {1}.event AS e
                  WHERE e.exception IN ('backing_off', 'parked')
                    AND e.seq < least(o.number + 1, 2147483647) << 32),
       EXISTS (SELECT FROM {1}.event AS e
               WHERE e.exception = 'dead' AND e.seq < least(o.number + 1, 2147483647) << 32)
FROM {1}.partitioning AS p LEFT JOIN oldest AS o ON true)";

}  // namespace

finding check_partitions(context& of) {
  const auto found = of.ask(fmt::format(partitions, of.schema_literal(), of.schema()));
  if (!found) return not_checked(found.error().message);
  if (found->size() == 0) return ok("the outbox is not partitioned");
  const auto is = [&](int column) { return !found->is_null(0, column) && found->at(0, column) == "t"; };
  if (!found->is_null(0, 3))
    return warning(
        fmt::format("the partition {} was detached by hand: relays leave it alone, and do not see its events",
                    found->at(0, 3)),
        fmt::format("DROP TABLE {}.{};  -- when nothing in it is needed", of.schema(), found->at(0, 3)));
  if (found->at(0, 2) == "0")
    return warning("no partition is ready after the current one", "start a relay: the leader creates two");
  if (found->is_null(0, 4)) return ok(fmt::format("{}, none in use yet", found->at(0, 0)));
  const std::string_view stays = is(7)   ? "it stays for its dead events"
                                 : is(6) ? "it stays for events that wait"
                                         : "it stays until retention.published has passed";
  return ok(fmt::format("{}, {} in use; the oldest, {}, began {}: {}", found->at(0, 0), found->at(0, 1),
                        found->at(0, 4), found->at(0, 5),
                        found->at(0, 1) == "1" ? "it is the only one" : stays));
}

}  // namespace outboxd::app::check
