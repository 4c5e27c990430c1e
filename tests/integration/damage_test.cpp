// Catalog objects, rows and rights of a healthy outbox are dropped or changed, by hand and at random: check
// names each, migrate mends each, and no event is lost or goes out twice.
#include <doctest/doctest.h>

#include <algorithm>
#include <iterator>
#include <random>
#include <set>

#include "stage.hpp"

namespace outboxd::test::damage_test {
namespace {

struct damage {
  std::string sql;
  std::string words;  // what is said of it
};

program_result migrate(const stage& on, const arguments& more = {}) {
  arguments words{"migrate"};
  words.insert(words.end(), more.begin(), more.end());
  return run_outboxd(words, on.variables());
}

// Everything that an outbox of this version consists of, as the catalog has it, and what else gets lost.
std::vector<damage> all_kinds(const stage& on) {
  std::vector<damage> out{
      {"DELETE FROM outbox.migration", "the record of migrations lacks 0012_outbox"},
      {"DELETE FROM outbox.shard", "shard 0, 1 has no row"},
      {"DELETE FROM outbox.shard WHERE shard = 1", "shard 1 has no row"},
      {"UPDATE outbox.shard SET rings = false WHERE shard = 1", "shard 1 has the wrong doorbell"},
      {"SELECT setval('outbox.event_seq', 1)", "the sequence is at"},
      {"DROP TABLE outbox.shard", "the table shard is missing"},
      {"DROP TABLE outbox.migration", "the table migration is missing"},
      {"DROP TABLE outbox.pause", "the table pause is missing"},
      {"DROP TABLE outbox.discarded", "the table discarded is missing"},
      {"DROP TABLE outbox.audit CASCADE", "the table audit is missing"},
      {"DROP TABLE outbox.processed_event", "the table processed_event is missing"},
      {"DROP TABLE outbox.partitioning", "the table partitioning is missing"},
      {"DROP TABLE outbox.event_partition", "the table event_partition is missing"},
      {"ALTER TABLE outbox.event DROP CONSTRAINT event_pkey", "the constraint event_pkey is missing"},
      {"ALTER TABLE outbox.shard DROP CONSTRAINT shard_pkey", "the constraint shard_pkey is missing"},
      {"ALTER TABLE outbox.pause DROP CONSTRAINT pause_part_known",
       "the constraint pause_part_known is missing"},
      {"ALTER TABLE outbox.event DROP COLUMN replay_exchange",
       "the column replay_exchange of event is missing"},
      {"ALTER TABLE outbox.event DROP COLUMN deferrals", "the column deferrals of event is missing"},
      {"ALTER TABLE outbox.event ALTER seq DROP IDENTITY", "the column seq of event has no sequence"},
      {"ALTER TABLE outbox.audit ALTER id DROP IDENTITY", "the column id of audit has no sequence"},
      {"ALTER TABLE outbox.event ALTER status SET DEFAULT 'dead'", "instead of the default 'pending'"},
      {"ALTER FUNCTION outbox.replay RESET search_path", "the function replay is not what"},
      {"ALTER FUNCTION outbox.replay SECURITY INVOKER", "the function replay is not what"},
      {"ALTER FUNCTION outbox.take_sleep SET lock_timeout = 0", "the function take_sleep is not what"},
      {"ALTER FUNCTION outbox.require_role OWNER TO outbox_operator", "the function require_role belongs to"},
      {"ALTER TABLE outbox.audit OWNER TO outbox_operator", "the table audit belongs to outbox_operator"},
      {"GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA outbox TO PUBLIC", "PUBLIC may EXECUTE"},
      {"GRANT SELECT ON outbox.event TO PUBLIC", "PUBLIC may SELECT outbox.event"},
      {"GRANT UPDATE (status) ON outbox.event TO PUBLIC", "PUBLIC may UPDATE outbox.event"},
      {"REVOKE USAGE ON SCHEMA outbox FROM outbox_relay", "outbox_relay lacks USAGE on outbox"},
      {"REVOKE USAGE ON SCHEMA outbox FROM outbox_writer", "outbox_writer lacks USAGE on outbox"},
      {"REVOKE INSERT (payload) ON outbox.event FROM outbox_writer", "outbox_writer lacks INSERT"},
      {"REVOKE ALL ON outbox.event FROM outbox_relay", "outbox_relay lacks"},
      {"REVOKE ALL ON ALL TABLES IN SCHEMA outbox FROM outbox_operator", "outbox_operator lacks"},
  };
  auto session = on.connect();
  const auto each = [&](const std::string& query, const std::string& sql, const std::string& words) {
    for (const auto& row : session.exec(query))
      out.push_back({fmt::format(fmt::runtime(sql), *row[0]), fmt::format(fmt::runtime(words), *row[1])});
  };
  each(
      "SELECT oid::regprocedure, proname FROM pg_proc WHERE pronamespace = 'outbox'::regnamespace ORDER BY 2",
      "DROP FUNCTION {} CASCADE", "the function {} is missing");
  each(
      "SELECT proname, proname FROM pg_proc WHERE pronamespace = 'outbox'::regnamespace AND proname IN"
      " ('take_over', 'keep_place', 'agree_on_status') ORDER BY 2",
      "CREATE OR REPLACE FUNCTION outbox.{}() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'",
      "the function {} is not what migrate makes");
  each("SELECT tgname, tgname FROM pg_trigger WHERE tgrelid = 'outbox.event'::regclass AND NOT tgisinternal",
       "DROP TRIGGER {} ON outbox.event", "the trigger {} is missing");
  for (const std::string how : {"DISABLE", "ENABLE", "ENABLE REPLICA", "ENABLE ALWAYS"})
    each(
        "SELECT tgname, tgname || CASE tgenabled WHEN 'R' THEN ' is not enabled for replicated rows'"
        " ELSE ' is not enabled always' END"
        " FROM pg_trigger WHERE tgrelid = 'outbox.event'::regclass AND NOT tgisinternal"
        " AND '" +
            how + "' <> CASE tgenabled WHEN 'R' THEN 'ENABLE REPLICA' ELSE 'ENABLE ALWAYS' END",
        "ALTER TABLE outbox.event " + how + " TRIGGER {}", "the trigger {}");
  each(
      "SELECT indexrelid::regclass, c.relname FROM pg_index JOIN pg_class AS c ON c.oid = indexrelid"
      " WHERE c.relnamespace = 'outbox'::regnamespace AND NOT indisprimary",
      "DROP INDEX {}", "the index {} is missing");
  each(
      "SELECT attname, attname FROM pg_attribute WHERE attrelid = 'outbox.event'::regclass AND atthasdef"
      " AND attidentity = '' ORDER BY 1",
      "ALTER TABLE outbox.event ALTER {} DROP DEFAULT", "the column {} of event has no default");
  each(
      "SELECT attname, attname FROM pg_attribute WHERE attrelid = 'outbox.event'::regclass AND attnotnull"
      " AND attnum > 0 AND attidentity = '' AND attname NOT IN ('id') ORDER BY 1",
      "ALTER TABLE outbox.event ALTER {} DROP NOT NULL", "the column {} of event may be null");
  each(
      "SELECT oid::regprocedure, r || ' lacks EXECUTE on ' || oid::regprocedure"
      " FROM pg_proc, unnest(ARRAY['outbox_writer', 'outbox_relay', 'outbox_operator']) AS r"
      " WHERE pronamespace = 'outbox'::regnamespace AND has_function_privilege(r, oid, 'EXECUTE') ORDER BY 2",
      "REVOKE ALL ON FUNCTION {} FROM outbox_writer, outbox_relay, outbox_operator", "{}");
  return out;
}

// Writers of the damaged outbox may be refused; what they commit counts.
void try_to_add(const stage& on) {
  try {
    on.add_events(2, 3);
  } catch (const database_error&) {
  }
}

const stage& prepared(const stage& on) {
  REQUIRE(migrate(on, {"--shards", "2"}).exited(0));
  on.add_events(3, 4);
  return on;
}

}  // namespace

// Several at a time, for programs take their time to start. What another one of them hides or takes away is
// damaged once more, alone.
TEST_CASE("each kind of damage is named by migrate --check, mended by migrate, and then nothing differs") {
  constexpr std::size_t together = 8;
  const stage on;
  const auto kinds = all_kinds(prepared(on));
  CHECK(kinds.size() >= 100);
  auto session = on.connect();
  const auto check_and_mend = [&] {
    auto named = migrate(on, {"--check"});
    CHECK_MESSAGE(named.exited(1), named.text());
    const auto mended = migrate(on);
    CHECK_MESSAGE(mended.exited(0), mended.text());
    return named;
  };
  std::vector<damage> hidden;
  // Those that stand side by side are alike.
  const auto groups = (kinds.size() + together - 1) / together;
  for (std::size_t group = 0; group < groups; ++group) {
    std::vector<damage> done;
    for (auto at = group; at < kinds.size(); at += groups) {
      try {
        session.exec(kinds[at].sql);
        done.push_back(kinds[at]);
      } catch (const database_error&) {
        hidden.push_back(kinds[at]);
      }
    }
    const auto named = check_and_mend();
    std::copy_if(done.begin(), done.end(), std::back_inserter(hidden),
                 [&](const damage& one) { return !named.says(one.words); });
  }
  CHECK(hidden.size() < kinds.size() / 2);
  for (const auto& one : hidden) {
    CAPTURE(one.sql);
    session.exec(one.sql);
    const auto named = check_and_mend();
    CHECK_MESSAGE(named.says(one.words), named.text());
  }
  const auto after = migrate(on, {"--check"});
  CHECK_MESSAGE(after.exited(0), after.text());
  on.add_events(3, 4);
  relay running{on};
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  running.stop();
}

TEST_CASE("one to three kinds of damage at random, beside a relay, are mended and lose nothing") {
  for (const unsigned seed : {1U, 2U, 3U, 4U, 5U, 6U}) {
    std::mt19937 random{seed};
    const stage on;
    const auto kinds = all_kinds(prepared(on));
    relay running{on};
    running.await_connected();
    auto session = on.connect();
    std::string done;
    const auto times = std::uniform_int_distribution{1, 3}(random);
    for (int i = 0; i < times; ++i) {
      const auto& one = kinds.at(std::uniform_int_distribution<std::size_t>{0, kinds.size() - 1}(random));
      try {
        session.exec(one.sql);
        done += one.sql + "; ";
      } catch (const database_error&) {
        // The one before has taken it away.
      }
      try_to_add(on);
    }
    CAPTURE(seed);
    CAPTURE(done);
    const auto mended = migrate(on);
    CHECK_MESSAGE(mended.exited(0), mended.text());
    on.add_events(2, 3);
    // A relay that could not mark may send again what it sent, as after any fault. Events written while
    // the sequence was set back have no order.
    const auto report = on.check_all();
    CHECK_MESSAGE(report.lost + report.phantom + report.mismatches == 0, report.words());
    running.stop();
    CHECK(migrate(on, {"--check"}).exited(0));
  }
}

}  // namespace outboxd::test::damage_test
