// An outbox that an earlier outboxd made: migrate makes of it what it makes now.
#include <doctest/doctest.h>

#include "stage.hpp"

namespace outboxd::test::old_outbox_test {
namespace {

program_result migrate(const std::string& url, const arguments& more = {}) {
  arguments all{"migrate"};
  all.insert(all.end(), more.begin(), more.end());
  return run_outboxd(all, {{"OUTBOXD_DATABASE_URL", url}});
}

// Functions, triggers, constraints, indexes and columns, by their definitions.
std::string catalog_of(const fresh_database& of) {
  return of.connect().value(
      "WITH tables AS (SELECT oid FROM pg_class WHERE relnamespace = 'outbox'::regnamespace"
      " AND relkind = 'r')"
      " SELECT string_agg(made, '; ' ORDER BY made) FROM ("
      " SELECT pg_get_functiondef(oid) AS made FROM pg_proc WHERE pronamespace = 'outbox'::regnamespace"
      " UNION ALL SELECT pg_get_triggerdef(oid) || tgenabled::text FROM pg_trigger"
      "  WHERE tgrelid IN (SELECT oid FROM tables) AND NOT tgisinternal"
      " UNION ALL SELECT conname || ' ' || pg_get_constraintdef(oid) FROM pg_constraint"
      "  WHERE connamespace = 'outbox'::regnamespace"
      " UNION ALL SELECT pg_get_indexdef(indexrelid) FROM pg_index"
      "  WHERE indrelid IN (SELECT oid FROM tables)"
      " UNION ALL SELECT attrelid::regclass || attname || ' ' || format_type(atttypid, atttypmod) ||"
      "  attnotnull || coalesce(pg_get_expr(adbin, adrelid), '') FROM pg_attribute LEFT JOIN pg_attrdef"
      "  ON adrelid = attrelid AND adnum = attnum WHERE attrelid IN (SELECT oid FROM tables)"
      "  AND attnum > 0 AND NOT attisdropped) AS all_made");
}

}  // namespace

TEST_CASE("an outbox of version 9 becomes one of this version") {
  for (const std::string payload : {"jsonb", "bytea"}) {
    CAPTURE(payload);
    const fresh_database made_now;
    const fresh_database target;
    REQUIRE(migrate(made_now.url(), {"--payload", payload}).exited(0));
    REQUIRE(migrate(target.url(), {"--payload", payload}).exited(0));
    auto session = target.connect();
    session.exec(
        "DELETE FROM outbox.migration; INSERT INTO outbox.migration (version, name)"
        " SELECT n, 'of then' FROM generate_series(1, 9) AS n;"
        "ALTER TABLE outbox.event DROP COLUMN last_error_scope, DROP COLUMN first_failed_at,"
        " DROP COLUMN waits_for, DROP COLUMN failed_exchange, DROP COLUMN failed_routing_key;"
        "ALTER TABLE outbox.audit DROP CONSTRAINT audit_what_known, ADD CONSTRAINT audit_what_known CHECK"
        " (what IN ('retry', 'discard', 'replay', 'prune', 'pause', 'resume'));"
        "ALTER TABLE outbox.pause DROP CONSTRAINT pause_part_known, DROP CONSTRAINT pause_name_of_type,"
        " ADD CONSTRAINT pause_part_known CHECK (part IN ('everything', 'event_type', 'aggregate_type')),"
        " ADD CONSTRAINT pause_name_of_type CHECK ((part = 'everything') = (name = ''));"
        "CREATE OR REPLACE TRIGGER event_agree_on_status AFTER UPDATE OF status, exception, published_at"
        " ON outbox.event FOR EACH ROW EXECUTE FUNCTION outbox.agree_on_status()");
    for (const std::string gone :
         {"pause(text[], text[], boolean, timestamptz, text, text[], text[])",
          "pause(text, text, boolean, timestamptz, text, text, text)",
          "resume(text[], text[], boolean, text, text[], text[])",
          "resume(text, text, boolean, text, text, text)", "names_in(text)", "audit_begin(text, text, text)",
          "pause_words(text[], text[], boolean, text[], text[])", "events_cancel(uuid[], bigint, bigint[])",
          "pause_parts(text[], text[], boolean, text[], text[])"})
      session.exec("DROP FUNCTION outbox." + gone);
    for (const std::string old :
         {"pause(text[], text[] DEFAULT '{}', boolean DEFAULT false, timestamptz DEFAULT NULL,"
          " text DEFAULT NULL)",
          "resume(text[], text[] DEFAULT '{}', boolean DEFAULT false, text DEFAULT NULL)"})
      session.exec("CREATE FUNCTION outbox." + old + " RETURNS bigint LANGUAGE sql AS 'SELECT 1::bigint'");
    const auto named = migrate(target.url(), {"--check"});
    CHECK_MESSAGE(named.exited(1), named.text());
    for (const char* const words :
         {"has version 9; pending: 0012_outbox", "the constraint pause_part_known is of an earlier outboxd",
          "the trigger event_agree_on_status is of an earlier outboxd",
          "the function outbox.pause(text[],text[],boolean,timestamp with time zone,text) is of an earlier"})
      CHECK_MESSAGE(named.says(words), named.text());
    const auto done = migrate(target.url());
    CHECK_MESSAGE(done.exited(0), done.text());
    const auto after = migrate(target.url(), {"--check"});
    CHECK_MESSAGE(after.exited(0), after.text());
    CHECK(catalog_of(target) == catalog_of(made_now));
    CHECK(session.value("SELECT outbox.pause('{}', exchanges => 'x')") == "1");
  }
}

}  // namespace outboxd::test::old_outbox_test
