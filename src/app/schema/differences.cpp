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

std::string declared_objects(const pg::schema_name& schema, const outbox_shape& shape, bool needs_all) {
  std::string statements;
  for (int number = 0; const auto& one : all_declarations(shape)) {
    const auto head = one.statement.find(one.kind == "function" ? "$outboxd$" : "\n");
    const auto text = needs_all ? one.statement : one.statement.substr(0, head);
    statements += fmt::format("{}({}, '{}', '{}', {})", statements.empty() ? "" : ",\n", number++, one.kind,
                              one.name, text_literal(fill_in(text, schema, shape)));
  }
  const placeholder listed{"@statements@", statements};
  return fill_in(store::state_text("declared"), schema, shape, {&listed, 1});
}

std::string state_query(std::string_view part, const pg::schema_name& schema, const outbox_shape& shape) {
  const bool is_late = part == on_columns;
  const bool needs_all = is_late || part == "objects" || part == "columns";
  std::string versions;
  for (const auto& one : migrations())
    versions += fmt::format("{}({}, '{}')", versions.empty() ? "" : ", ", version_of(one), one.name);
  const std::array<placeholder, 4> more{{{"@declared@", declared_objects(schema, shape, needs_all)},
                                         {"@rights@", std::string(store::state_text("rights"))},
                                         {"@on_columns@", is_late ? "true" : "false"},
                                         {"@migrations@", versions}}};
  return fill_in(store::state_text(is_late ? "objects" : part), schema, shape, more);
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
    // These queries read tables that may be missing, or whose rows this user may not see.
    if (!found && (part == "rows" || part == "sequence")) {
      out.push_back({fmt::format("not looked at: {}: {}", part, found.error().message), {}, false});
      continue;
    }
    if (!found) return found;
    std::move(found->begin(), found->end(), std::back_inserter(out));
  }
  return out;
}

result<outbox_shape> shape_of(const asking& ask, const pg::schema_name& schema, std::string_view otherwise) {
  OUTBOXD_TRY(const auto found, ask(fill_in(store::state_text("shape"), schema, {})));
  outbox_shape out{.payload_type = std::string(found.find(0, 3).value_or(otherwise)),
                   .shards = number(found, 0, 1),
                   .notifies = found.find(0, 1).value_or("true") == "true"};
  if (found.find(0, 2) != "t") return out;
  OUTBOXD_TRY(
      const auto rows,
      ask(fmt::format("SELECT max(s.shard) + 1, bool_and(s.rings) FROM {}.shard AS s", schema.identifier())));
  const int shards = std::min(number(rows, 0, 1), store::most_shards);
  while (out.shards < shards) out.shards *= 2;
  if (found.is_null(0, 1)) out.notifies = rows.find(0, 1).value_or("t") == "t";
  return out;
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
