#include "app/schema/differences.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "app/schema/declared.hpp"
#include "store/relay_statements.hpp"
#include "store/rights.hpp"

namespace outboxd::app {
namespace {

int number(const pg::rows& in, int column, int otherwise) {
  int out = otherwise;
  const auto text = in.find(0, column);
  if (text) std::from_chars(text->data(), text->data() + text->size(), out);
  return out;
}

}  // namespace

std::string state_query(std::string_view part, const pg::schema_name& schema, const outbox_shape& shape) {
  const auto wanted = declared_by_all(schema, shape);
  std::string versions;
  for (const auto& one : migrations())
    versions += fmt::format("{}({}, '{}')", versions.empty() ? "" : ", ", version_of(one), one.name);
  const std::array<placeholder, 6> more{{{"@objects@", wanted.objects},
                                         {"@columns@", wanted.columns},
                                         {"@functions@", wanted.functions},
                                         {"@tables@", wanted.tables},
                                         {"@rights@", std::string(store::state_text("rights"))},
                                         {"@migrations@", versions}}};
  return fill_in(store::state_text(part), schema, shape, more);
}

result<std::vector<difference>> find_differences(const asking& ask, std::string_view part,
                                                 const pg::schema_name& schema, const outbox_shape& shape) {
  OUTBOXD_TRY(const auto found, ask(state_query(part, schema, shape)));
  std::vector<difference> out;
  for (int i = 0; i < found.size(); ++i)
    out.push_back({std::string(found.at(i, 0)), std::string(found.at(i, 1)), found.at(i, 2) == "t"});
  return out;
}

result<std::vector<difference>> find_all_differences(const asking& ask, const pg::schema_name& schema,
                                                     const outbox_shape& shape) {
  std::vector<difference> out;
  for (const auto& part : state_parts) {
    auto found = find_differences(ask, part, schema, shape);
    // These read tables, which may be missing, and whose rows this user may not see.
    if (!found && (part == "rows" || part == "sequence")) {
      out.push_back({fmt::format("not looked at: {}: {}", part, found.error().message), {}, false});
      continue;
    }
    if (!found) return found;
    std::move(found->begin(), found->end(), std::back_inserter(out));
  }
  return out;
}

// What the function says goes before what rows say: they may be gone, or be of a copy.
result<outbox_shape> shape_of(const asking& ask, const pg::schema_name& schema, std::string payload_type) {
  outbox_shape out{.payload_type = std::move(payload_type)};
  const auto function =
      ask(fmt::format("SELECT substring(p.prosrc FROM 'generate_series[(]0, ([0-9]+) - 1[)]'),"
                      " substring(p.prosrc FROM 'SELECT s, (true|false) FROM')"
                      " FROM (VALUES (to_regprocedure({}))) AS f (oid)"
                      " LEFT JOIN pg_catalog.pg_proc AS p ON p.oid = f.oid",
                      text_literal(schema.identifier() + ".mend_shards()")));
  if (!function) return tl::make_unexpected(function.error());
  out.shards = number(*function, 0, 1);
  out.notifies = function->find(0, 1).value_or("true") == "true";
  OUTBOXD_TRY(const auto table, ask(fmt::format("SELECT has_table_privilege(to_regclass({}), 'SELECT')",
                                                text_literal(schema.identifier() + ".shard"))));
  if (table.is_null(0, 0) || table.at(0, 0) == "f") return out;
  const auto rows =
      ask(fmt::format("SELECT max(s.shard) + 1, bool_and(s.rings) FROM {}.shard AS s", schema.identifier()));
  if (!rows) return tl::make_unexpected(rows.error());
  const int shards = std::min(number(*rows, 0, 1), store::most_shards);
  while (out.shards < shards) out.shards *= 2;
  if (function->is_null(0, 1)) out.notifies = rows->find(0, 1).value_or("t") == "t";
  return out;
}

result<std::string> payload_type_in(const asking& ask, const pg::schema_name& schema) {
  const auto found =
      ask(fmt::format("SELECT pg_catalog.format_type(a.atttypid, NULL) FROM pg_catalog.pg_attribute AS a"
                      " WHERE a.attrelid = to_regclass({}) AND a.attname = 'payload' AND NOT a.attisdropped",
                      text_literal(schema.identifier() + ".event")));
  if (!found) return tl::make_unexpected(found.error());
  return found->size() == 0 ? std::string() : std::string(found->at(0, 0));
}

std::string state_script(const pg::schema_name& schema, const outbox_shape& shape) {
  std::string out;
  for (const std::string_view part : {"roles", "row_security", "grants"})
    out += fmt::format(
        "DO $state$\nDECLARE\n  one record;\nBEGIN\n  FOR one IN SELECT d.remedy FROM (\n{}"
        "  ) AS d (what, remedy, hurts)\n  LOOP\n    BEGIN\n      EXECUTE one.remedy;\n"
        "    EXCEPTION WHEN duplicate_object OR unique_violation THEN\n"
        "      NULL;  -- another migration of this cluster was faster\n    END;\n  END "
        "LOOP;\nEND\n$state$;\n",
        state_query(part, schema, shape));
  return out;
}

}  // namespace outboxd::app
