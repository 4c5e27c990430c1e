// app_adopt_test: what --map and --header mean, which types fit, and that no name gets out of its quotes.
#include <doctest/doctest.h>

#include "app/adopt/adoption_sql.hpp"
#include "app/adopt/column_fit.hpp"
#include "app/adopt/mapping.hpp"
#include "app/adopt/misfits.hpp"
#include "app/adopt/quoting.hpp"

namespace app_adopt_test {

using namespace outboxd;
using namespace outboxd::app;

namespace {

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

std::string refusal(const std::string& preset, const std::vector<std::string>& maps,
                    const std::vector<std::string>& headers = {}) {
  const auto read = read_mapping(preset, maps, headers);
  return read ? "" : read.error().message;
}

source_column column(const std::string& name, const std::string& base, char category = 'U') {
  return {.name = name, .type = base, .base = base, .category = category, .not_null = false, .counts = false};
}

source_table table() {
  source_table out;
  out.oid = "4711";
  out.schema = "public";
  out.name = "outboxevent";
  out.owner = "shop";
  out.columns = {column("id", "uuid"), column("aggregatetype", "varchar", 'S'),
                 column("aggregateid", "varchar", 'S'), column("type", "varchar", 'S'),
                 column("payload", "jsonb")};
  out.primary_key = {"id"};
  return out;
}

adoption debezium(source_table from) {
  const auto mapping = read_mapping("debezium", {}, {});
  auto event = fit_columns(from, *mapping, payload_type::jsonb);
  return {.from = std::move(from),
          .outbox = *pg::schema_name::parse("outbox"),
          .event = *event,
          .fits = {},
          .passes_twins = false,
          .where = {},
          .keeps = false,
          .order_by = {}};
}

// How a column of this type becomes this field; the refusal if it does not.
std::string fitted(event_field field, const source_column& as, payload_type payload = payload_type::jsonb) {
  source_table from;
  from.columns = {as};
  column_mapping mapping;
  mapping.fields[field] = {field_source::kind::column, as.name};
  const auto event = fit_columns(from, mapping, payload);
  return event ? event->front().sql : event.error().message;
}

}  // namespace

TEST_CASE("a mapping is a preset, what is mapped besides, and headers") {
  const auto read =
      read_mapping("debezium", {"event_type=kind", "id=", "aggregate_type='it''s'"}, {"t=tenant"});
  REQUIRE(read);
  CHECK(read->fields.at(event_field::event_type).text == "kind");
  CHECK(read->fields.at(event_field::aggregate_id).text == "aggregateid");
  CHECK(!read->fields.contains(event_field::id));
  CHECK(read->fields.at(event_field::aggregate_type).what == field_source::kind::constant);
  CHECK(read->fields.at(event_field::aggregate_type).text == "it's");
  CHECK(read->headers.front().name == "t");
  CHECK(!read->keeps);
  CHECK(read_mapping("spring-modulith", {}, {})->keeps);
}

TEST_CASE("a mapping that is none is refused and told why") {
  CHECK(has(refusal("debezum", {}), "--preset 'debezum'"));
  CHECK(has(refusal("", {}), "no column is mapped to aggregate_type"));
  CHECK(has(refusal("debezium", {"payload="}), "no column is mapped to payload"));
  for (const char* one : {"event_type", "=type", "", "kind=type", "payload='{}'", "event_type=''",
                          "event_type='", "event_type='a'b'", "status=x", "seq=x"})
    CHECK_MESSAGE(has(refusal("debezium", {one}), "--map"), one);
  CHECK(has(refusal("debezium", {"id=a", "id=b"}), "more than once"));
  for (const char* one : {"tenant", "=a", "tenant=", ""})
    CHECK_MESSAGE(has(refusal("debezium", {}, {one}), "--header"), one);
  CHECK(has(refusal("debezium", {}, {"a=b", "a=c"}), "more than once"));
  CHECK(has(refusal("debezium", {}, {std::string(256, 'x') + "=c"}), "256 bytes"));
}

TEST_CASE("a column becomes a field if its type fits, and is refused if not") {
  using enum event_field;
  CHECK(fitted(id, column("c", "uuid")) == R"(NEW."c")");
  CHECK(fitted(id, column("c", "text", 'S')) == R"(NEW."c"::pg_catalog.text::pg_catalog.uuid)");
  CHECK(has(fitted(id, column("c", "int8", 'N')), "--map id="));
  CHECK(fitted(aggregate_id, column("c", "int8", 'N')) == R"(NEW."c"::pg_catalog.text)");
  CHECK(fitted(event_type, column("c", "", 'E')) == R"(NEW."c"::pg_catalog.text)");
  for (const char* type : {"jsonb", "bytea", "timestamptz", "bool"})
    CHECK_MESSAGE(has(fitted(aggregate_id, column("c", type)), "is of type"), type);
  CHECK(has(fitted(available_at, column("c", "timestamptz", 'D')), "now()"));
  CHECK(has(fitted(available_at, column("c", "timestamp", 'D')), "with time zone"));
  CHECK(has(fitted(headers, column("c", "text", 'S')), "::pg_catalog.jsonb"));
  CHECK(has(fitted(headers, column("c", "bytea")), "is of type bytea"));
}

TEST_CASE("a payload is cast to the outbox's type, or refused") {
  const auto payload = [](const source_column& as, payload_type to) {
    return fitted(event_field::payload, as, to);
  };
  CHECK(payload(column("p", "jsonb"), payload_type::jsonb) == R"(NEW."p"::pg_catalog.jsonb)");
  CHECK(payload(column("p", "text", 'S'), payload_type::json) ==
        R"(NEW."p"::pg_catalog.text::pg_catalog.json)");
  CHECK(payload(column("p", "jsonb"), payload_type::text) == R"(NEW."p"::pg_catalog.text)");
  CHECK(payload(column("p", "bytea"), payload_type::bytea) == R"(NEW."p")");
  CHECK(has(payload(column("p", "text", 'S'), payload_type::bytea), "convert_to"));
  for (const auto to : {payload_type::jsonb, payload_type::json, payload_type::text})
    CHECK(has(payload(column("p", "bytea"), to), "is of type bytea"));
  for (const auto to : {payload_type::jsonb, payload_type::json, payload_type::text, payload_type::bytea})
    CHECK(has(payload(column("p", "int8", 'N'), to), "is of type int8"));
}

TEST_CASE("what becomes of rows that cannot be events is asked where the columns allow them") {
  auto mapping = *read_mapping("debezium", {}, {});
  mapping.misfits = {};
  const auto asked = [&](const source_table& from, const misfit_options& options, payload_type payload) {
    const auto decided = decide_misfits(from, mapping, payload, options);
    return decided ? "" : decided.error().message;
  };
  source_table from = table();
  CHECK(has(asked(from, {}, payload_type::jsonb), "column payload of public.outboxevent may be null"));
  CHECK(has(asked(from, {"skip", {}}, payload_type::jsonb), "aggregatetype (aggregate_type), aggregateid"));
  CHECK(asked(from, {"skip", "refuse"}, payload_type::jsonb).empty());
  CHECK(has(asked(from, {"empty", "skip"}, payload_type::json), "no JSON is empty"));
  CHECK(asked(from, {"empty", "skip"}, payload_type::text).empty());
  CHECK(has(asked(from, {"null", "skip"}, payload_type::text), "--null-payload 'null'"));
  CHECK(has(asked(from, {"skip", "json-null"}, payload_type::text), "--unfit 'json-null'"));
  for (auto& one : from.columns) one.not_null = true;
  CHECK(asked(from, {}, payload_type::jsonb).empty());
  const auto decided = decide_misfits(from, mapping, payload_type::jsonb, {});
  REQUIRE(decided);
  CHECK(decided->asks_rows);
  CHECK(decided->others == unfit_row::skip);
}

TEST_CASE("a preset chooses what no option says, where the columns allow such rows") {
  const auto mapping = *read_mapping("debezium", {}, {});
  const auto decided = [&](const source_table& from, const misfit_options& options) {
    const auto found = decide_misfits(from, mapping, payload_type::jsonb, options);
    REQUIRE_MESSAGE(found, found.error().message);
    return *found;
  };
  source_table from = table();
  const auto all = decided(from, {});
  CHECK(all.payload == null_payload::json_null);
  CHECK(all.others == unfit_row::skip);
  CHECK(all.by_preset == std::vector<std::string>{"--null-payload json-null (the body is null)",
                                                  "--unfit skip (the row is not copied, and stays in the "
                                                  "table)"});
  const auto none = decided(from, {"skip", "refuse"});
  CHECK(none.payload == null_payload::skip);
  CHECK(none.others == unfit_row::refuse);
  CHECK(none.by_preset.empty());
  for (auto& one : from.columns) one.not_null = true;
  CHECK(decided(from, {}).by_preset.size() == 1);
}

TEST_CASE("a row has to fit to be copied, by conditions that no search_path changes") {
  const auto mapping = *read_mapping("debezium", {"headers=h"}, {"t=j"});
  source_table from = table();
  from.columns.push_back(column("h", "text", 'S'));
  from.columns.push_back(column("j", "json"));
  const auto outbox = *pg::schema_name::parse("outbox");
  const auto conditions = fit_conditions(from, mapping, payload_type::jsonb, outbox,
                                         {.payload = null_payload::skip, .others = unfit_row::skip});
  CHECK(conditions ==
        std::vector<std::string>{R"(NEW."payload" IS NOT NULL)",
                                 R"(NEW."aggregatetype"::pg_catalog.text OPERATOR(pg_catalog.<>) '')",
                                 R"(NEW."aggregateid"::pg_catalog.text OPERATOR(pg_catalog.<>) '')",
                                 R"(NEW."type"::pg_catalog.text OPERATOR(pg_catalog.<>) '')",
                                 R"("outbox".can_become(NEW."h"::pg_catalog.text, 'object'))",
                                 R"("outbox".can_become(NEW."j"::pg_catalog.text, 'jsonb'))"});
  CHECK(fit_conditions(from, mapping, payload_type::jsonb, outbox,
                       {.payload = null_payload::json_null, .others = unfit_row::refuse})
            .empty());
  auto event = *fit_columns(from, mapping, payload_type::text);
  replace_null_payload(event, payload_type::text, null_payload::empty);
  CHECK(has(event.at(4).sql, "COALESCE("));
  CHECK(has(event.at(4).sql, "''::pg_catalog.text"));
}

TEST_CASE("a missing column is named beside those that there are") {
  auto from = table();
  const auto mapping = read_mapping("debezium", {"event_type=kind"}, {});
  const auto event = fit_columns(from, *mapping, payload_type::jsonb);
  REQUIRE(!event);
  CHECK(has(event.error().message, "no column kind; it has id, aggregatetype, aggregateid, type, payload"));
}

TEST_CASE("names and texts stay within their quotes") {
  CHECK(quoted_name("a\"b") == R"("a""b")");
  CHECK(quoted_text("it's") == "'it''s'");
  CHECK(quoted_text("a\\'") == R"(E'a\\''')");
  CHECK(quoted_body("x") == "$outboxd$x$outboxd$");
  CHECK(quoted_body("$outboxd$ $outboxd_") == "$outboxd__$$outboxd$ $outboxd_$outboxd__$");
  CHECK(quoted_body("$outboxd") == "$outboxd_$$outboxd$outboxd_$");  // else the end would begin too early
}

TEST_CASE("an ordinary table has one trigger for each statement, a partition one for each row") {
  auto from = table();
  CHECK(has(adoption_statements(debezium(from), ""), "FOR EACH STATEMENT"));
  CHECK(lock_statement(from) == "LOCK TABLE \"public\".\"outboxevent\" IN SHARE ROW EXCLUSIVE MODE;\n");
  CHECK(removal_statements(from).empty());
  from.is_partition = true;
  const auto rows = adoption_statements(debezium(from), "");
  CHECK(!has(rows, "FOR EACH STATEMENT"));
  CHECK(!has(rows, "outboxd_update"));
  from.partitioned = true;
  CHECK(has(adoption_statements(debezium(from), ""), "\"~outboxd_update\" BEFORE UPDATE"));
}

TEST_CASE("rows that were kept once are remembered until the adoption is removed") {
  auto from = table();
  auto what = debezium(from);
  CHECK(has(adoption_statements(what, ""), "kept=no"));
  CHECK(has(adoption_statements(what, ""), "outboxd_empty"));
  what.keeps = true;
  CHECK(has(adoption_statements(what, "2026-01-31T14:00:00Z"), "kept=yes backlog=2026-01-31T14:00:00Z"));
  CHECK(!has(adoption_statements(what, ""), "outboxd_empty"));
  from.adoption =
      adoption_record{.triggers = {}, .functions = {}, .kept = true, .backlog_taken = {}, .through = {}};
  CHECK(has(adoption_statements(debezium(from), ""), "kept=yes"));
}

}  // namespace app_adopt_test
