// pg_outbox_statements_test: the statements that a lane prepares.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "pg/binary.hpp"
#include "pg/outbox_statements.hpp"

using namespace outboxd::pg;
using namespace std::chrono_literals;

namespace {

const schema_name odd = *schema_name::parse(R"(Out"b)");

std::string sql_of(std::string_view name) {
  for (const prepared& one : lane_statements(odd, 30s, after_publish::keep))
    if (one.name == name) return one.sql;
  return {};
}
bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace

TEST_CASE("every statement that a lane runs is prepared once") {
  std::multiset<std::string> names;
  for (const prepared& one : lane_statements(odd, 30s, after_publish::keep)) names.insert(one.name);
  for (const auto name :
       {statement::begin, statement::bulk_plan, statement::claim, statement::claim_few,
        statement::claim_in_bulk, statement::claim_within, statement::commit, statement::guard,
        statement::mark_published, statement::release, statement::rollback, statement::set_back,
        statement::take_shards, statement::usual_plan})
    CHECK(names.count(std::string(name)) == 1);
}

TEST_CASE("every statement on the outbox names its schema, quoted") {
  for (const auto name :
       {statement::claim, statement::claim_few, statement::claim_in_bulk, statement::claim_within,
        statement::mark_published, statement::release, statement::set_back, statement::take_shards}) {
    CAPTURE(name);
    CHECK(has(sql_of(name), R"("Out""b".)"));
  }
  CHECK(has(sweep_statement(odd, 10), R"("Out""b".sweep(10, NULL, NULL, NULL, NULL, NULL, NULL))"));
}

TEST_CASE("the claim reads the columns that the reader expects, in that order") {
  for (const auto name :
       {statement::claim, statement::claim_in_bulk, statement::claim_within, statement::claim_few}) {
    CAPTURE(name);
    const std::string sql = sql_of(name);
    const auto from = sql.find(" FROM ");
    const auto columns = std::count(sql.begin(), sql.begin() + static_cast<std::ptrdiff_t>(from), ',') + 1;
    CHECK(
        sql.starts_with("SELECT id, place, shard, seq, aggregate_type, aggregate_id, event_type, payload, "
                        "headers, exchange, routing_key, attempts, nacks, created_at, "));
    const int more = name == statement::claim_few ? 2 : 0;  // up to the FROM of the last one
    CHECK(columns == static_cast<int>(claim_column::has_followers) + 1 + more);
  }
}

TEST_CASE("the claim needs READ COMMITTED and gives up its snapshot at once") {
  CHECK(has(sql_of(statement::begin), "READ COMMITTED"));
  CHECK(sql_of(statement::guard) == "SET LOCAL idle_in_transaction_session_timeout = 30000");
}

TEST_CASE("a lane's session waits for no flush and for no statement longer than a claim may last") {
  CHECK(has(session_settings(30s), "'synchronous_commit', 'off'"));
  CHECK(has(session_settings(30s), "'statement_timeout', '30000'"));
}

TEST_CASE("where a session is not ours alone, the settings end with the transaction") {
  CHECK(has(transaction_settings(30s), "'synchronous_commit', 'off', true"));
  CHECK_FALSE(has(transaction_settings(30s), "false"));
}

TEST_CASE("a sweep sends a probe only when it is given a channel") {
  CHECK(has(sweep_statement(odd, 1, {}, "probe_1"), "pg_notify('probe_1', '')"));
  CHECK_FALSE(has(sweep_statement(odd, 1), "pg_notify"));
}

TEST_CASE("what one sweep has found out goes with the next, and nothing that is no number") {
  const settled_knowledge settled{.settled = "12", .mark = "15", .writers = "{3/17,-1/712}"};
  const sweep_knowledge known{.floors = "{4,7}", .settled = settled, .epoch = "3", .searched = "{-1,0}"};
  CHECK(has(sweep_statement(odd, 1, known), "sweep(1, '{4,7}', '12', '15', '{3/17,-1/712}', '3', '{-1,0}')"));
  CHECK(has(settle_statement(odd, settled), R"("Out""b".settle('12', '15', '{3/17,-1/712}'))"));
  const sweep_knowledge forged{.floors = "{4}'",
                               .settled = {.settled = "x", .mark = "", .writers = "{}"},
                               .epoch = "'",
                               .searched = "{a}"};
  CHECK(has(sweep_statement(odd, 1, forged), "sweep(1, NULL, NULL, NULL, '{}', NULL, NULL)"));
}

TEST_CASE("floors are a list of numbers, or they are not known") {
  const std::vector<std::int64_t> two{4, 7};
  CHECK(read_floors("{4,7}") == two);
  CHECK(floors_literal(two) == "{4,7}");
  CHECK(read_int8_array(floors_parameter(two)) == two);
  for (const std::string_view text : {"", "{}", "{4,NULL}", "{4,}x", "4,7", "{99999999999999999999}"}) {
    CAPTURE(text);
    CHECK(read_floors(text).empty());
  }
}

TEST_CASE("what is not known to be settled is before the first seq") {
  CHECK(read_settled({}) == -1);
  CHECK(read_settled({.settled = "12", .mark = "", .writers = ""}) == 12);
}
