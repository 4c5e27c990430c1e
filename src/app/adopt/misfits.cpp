#include "app/adopt/misfits.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

#include "app/adopt/quoting.hpp"

namespace outboxd::app {
namespace {

constexpr std::array names{event_field::aggregate_type, event_field::aggregate_id, event_field::event_type};

const source_column* column_of(const source_table& from, const column_mapping& mapping, event_field field) {
  const auto found = mapping.fields.find(field);
  if (found == mapping.fields.end() || found->second.what != field_source::kind::column) return nullptr;
  return from.find(found->second.text);
}

bool is_string_like(const source_column& one) {
  return one.category == 'S' || one.category == 'E';  // strings and enums
}

std::string new_value(const source_column& one) {
  return "NEW." + quoted_name(one.name);
}

std::string can_become(const source_column& one, std::string_view kind, const pg::schema_name& outbox) {
  return fmt::format("{}.can_become({}::pg_catalog.text, '{}')", outbox.identifier(), new_value(one), kind);
}

result<null_payload> read_null_payload(const std::string& text, payload_type payload) {
  if (text == "skip") return null_payload::skip;
  if (text == "json-null") return null_payload::json_null;
  if (text == "refuse") return null_payload::refuse;
  if (text != "empty")
    return permanent(
        fmt::format("--null-payload '{}' is not allowed; give skip, json-null, empty or refuse", text));
  if (payload == payload_type::jsonb || payload == payload_type::json)
    return permanent(
        "--null-payload empty: the outbox has payloads of JSON, and no JSON is empty; give skip, json-null "
        "or "
        "refuse");
  return null_payload::empty;
}

result<unfit_row> read_unfit_row(const std::string& text) {
  if (text == "skip") return unfit_row::skip;
  if (text == "refuse") return unfit_row::refuse;
  return permanent(fmt::format("--unfit '{}' is not allowed; give skip or refuse", text));
}

std::string_view type_name(payload_type payload) {
  switch (payload) {
    case payload_type::jsonb:
      return "jsonb";
    case payload_type::json:
      return "json";
    case payload_type::text:
      return "text";
    case payload_type::bytea:
      return "bytea";
  }
  return {};
}

std::string as_option(std::string_view name, const std::string& choice) {
  const auto* const means = choice == "skip"        ? "the row is not copied, and stays in the table"
                            : choice == "json-null" ? "the body is null"
                            : choice == "empty"     ? "the body is empty"
                                                    : "the INSERT fails";
  return fmt::format("{} {} ({})", name, choice, means);
}

constexpr std::string_view misfit_choices =
    "--unfit skip (it is not copied, and stays in the table) or --unfit refuse (its INSERT fails)";

// The nullable columns among those mapped to names.
std::vector<std::string> nullable_names(const source_table& from, const column_mapping& mapping) {
  std::vector<std::string> out;
  for (const auto field : names)
    if (const auto* const one = column_of(from, mapping, field); one != nullptr && !one->not_null)
      out.push_back(fmt::format("{} ({})", one->name, name_of(field)));
  return out;
}

// The kind of value, as can_become names it, that a cast to the payload's type requires; the cast may fail.
std::string_view doubtful_payload(const source_column& one, payload_type payload) {
  const bool is_text = is_string_like(one);
  if (payload == payload_type::jsonb && (is_text || one.base == "json")) return "jsonb";
  if (payload == payload_type::json && is_text) return "json";
  return {};
}

void add_header_conditions(std::vector<std::string>& to, const source_table& from,
                           const column_mapping& mapping, const pg::schema_name& outbox) {
  if (const auto* const one = column_of(from, mapping, event_field::headers); one != nullptr)
    to.push_back(
        one->base == "jsonb"
            ? fmt::format("COALESCE(pg_catalog.jsonb_typeof({}) OPERATOR(pg_catalog.=) 'object', true)",
                          new_value(*one))
            : can_become(*one, "object", outbox));
  for (const auto& header : mapping.headers)
    if (const auto* const one = from.find(header.column); one != nullptr && one->base == "json")
      to.push_back(can_become(*one, "jsonb", outbox));
}

}  // namespace

result<misfit_decisions> decide_misfits(const source_table& from, const column_mapping& mapping,
                                        payload_type payload, const misfit_options& given) {
  misfit_decisions out;
  auto options = given;
  const auto* const body = column_of(from, mapping, event_field::payload);
  const bool may_be_null = body != nullptr && !body->not_null;
  if (!options.null_payload && may_be_null && mapping.misfits.null_payload) {
    options.null_payload = mapping.misfits.null_payload;
    out.by_preset.push_back(as_option("--null-payload", *options.null_payload));
  }
  if (options.null_payload) {
    OUTBOXD_TRY(const auto chosen, read_null_payload(*options.null_payload, payload));
    out.payload = chosen;
  } else if (may_be_null) {
    return permanent(fmt::format(
        "column {} of {} may be null, and the payload of an event may not; choose what becomes of such a "
        "row: --null-payload skip (it is not copied, and stays in the table), json-null (its body is "
        "null), empty (its body is empty) or refuse (its INSERT fails)",
        body->name, from.shown()));
  }
  if (!options.unfit && mapping.misfits.unfit) {
    options.unfit = mapping.misfits.unfit;
    out.by_preset.push_back(as_option("--unfit", *options.unfit));
  }
  if (options.unfit) {
    OUTBOXD_TRY(const auto chosen, read_unfit_row(*options.unfit));
    out.others = chosen;
    return out;
  }
  if (const auto nullable = nullable_names(from, mapping); !nullable.empty())
    return permanent(
        fmt::format("columns of {} may be null where an event may not: {}; choose what becomes of such a "
                    "row: {}",
                    from.shown(), fmt::join(nullable, ", "), misfit_choices));
  out.asks_rows = true;
  return out;
}

std::string nameless_row_query(const source_table& from, const column_mapping& mapping) {
  std::string conditions;
  for (const auto field : names)
    if (const auto* const one = column_of(from, mapping, field); one != nullptr && is_string_like(*one))
      conditions += fmt::format("{}{}::pg_catalog.text OPERATOR(pg_catalog.=) ''",
                                conditions.empty() ? "" : " OR ", new_value(*one));
  if (conditions.empty()) return {};
  return fmt::format("SELECT FROM {} AS new WHERE {} LIMIT 1", from.identifier(), conditions);
}

std::string nameless_row_refusal(const source_table& from) {
  return fmt::format(
      "{} has rows with an empty text where an event may have none (its aggregate's type or id, or its "
      "type); choose "
      "what becomes of such a row: {}",
      from.shown(), misfit_choices);
}

std::vector<std::string> fit_conditions(const source_table& from, const column_mapping& mapping,
                                        payload_type payload, const pg::schema_name& outbox,
                                        const misfit_decisions& decided) {
  std::vector<std::string> out;
  const auto* const body = column_of(from, mapping, event_field::payload);
  if (body != nullptr && !body->not_null && decided.payload == null_payload::skip)
    out.push_back(new_value(*body) + " IS NOT NULL");
  if (decided.others == unfit_row::refuse) return out;
  for (const auto field : names) {
    const auto* const one = column_of(from, mapping, field);
    if (one == nullptr) continue;
    if (is_string_like(*one))
      out.push_back(fmt::format("{}::pg_catalog.text OPERATOR(pg_catalog.<>) ''", new_value(*one)));
    else if (!one->not_null)
      out.push_back(new_value(*one) + " IS NOT NULL");
  }
  if (body != nullptr)
    if (const auto kind = doubtful_payload(*body, payload); !kind.empty())
      out.push_back(can_become(*body, kind, outbox));
  if (const auto* const id = column_of(from, mapping, event_field::id); id != nullptr && is_string_like(*id))
    out.push_back(can_become(*id, "uuid", outbox));
  add_header_conditions(out, from, mapping, outbox);
  return out;
}

void replace_null_payload(std::vector<event_expression>& event, payload_type payload, null_payload chosen) {
  if (chosen != null_payload::json_null && chosen != null_payload::empty) return;
  const std::string_view text = chosen == null_payload::json_null ? "null" : "";
  for (auto& one : event)
    if (one.field == event_field::payload)
      one.sql = fmt::format("COALESCE({}, '{}'::pg_catalog.{})", one.sql, text, type_name(payload));
}

}  // namespace outboxd::app
