#include "app/adopt/column_fit.hpp"

#include <fmt/format.h>

#include "app/adopt/quoting.hpp"

namespace outboxd::app {
namespace {

constexpr char numeric = 'N';
constexpr char string = 'S';
constexpr char enumerated = 'E';

bool is_json(const source_column& one) {
  return one.base == "json" || one.base == "jsonb";
}
bool is_text(const source_column& one) {
  return one.category == string;
}

std::string value_of(const source_column& one) {
  return "NEW." + quoted_name(one.name);
}
std::string cast(const source_column& one, std::string_view type) {
  return fmt::format("{}::pg_catalog.{}", value_of(one), type);
}
std::string cast_text(const source_column& one, std::string_view type) {
  return fmt::format("{}::pg_catalog.text::pg_catalog.{}", value_of(one), type);
}

tl::unexpected<error> misfit(const source_column& one, event_field field, std::string_view allowed) {
  return permanent(fmt::format("column {} is of type {}, and cannot become the {} of an event: {}", one.name,
                               one.type, name_of(field), allowed));
}

result<std::string> fit_text(const source_column& one, event_field field) {
  if (!is_text(one) && one.category != numeric && one.category != enumerated && one.base != "uuid")
    return misfit(one, field, "that takes a text, a number, an enum or a uuid");
  return cast(one, "text");
}

result<std::string> fit_id(const source_column& one) {
  if (one.base == "uuid") return value_of(one);
  if (is_text(one)) return cast_text(one, "uuid");
  return misfit(one, event_field::id,
                "that takes a uuid, or a text that is one; with --map id= the outbox makes ids of its own");
}

result<std::string> fit_headers(const source_column& one) {
  if (is_text(one)) return cast_text(one, "jsonb");
  if (is_json(one)) return cast(one, "jsonb");
  return misfit(one, event_field::headers, "that takes jsonb, json, or a text that is a JSON object");
}

result<std::string> fit_time(const source_column& one) {
  if (one.base != "timestamptz")
    return misfit(one, event_field::available_at,
                  "that takes timestamp with time zone; without a zone it is no point in time");
  return fmt::format("COALESCE({}, pg_catalog.now())", value_of(one));
}

result<std::string> fit_payload(const source_column& one, payload_type payload) {
  const auto no = [&](std::string_view type, std::string_view takes) {
    return misfit(one, event_field::payload,
                  fmt::format("the outbox has payloads of type {}, and takes {} (outboxd migrate --payload "
                              "chooses the type of a new outbox)",
                              type, takes));
  };
  switch (payload) {
    case payload_type::jsonb:
    case payload_type::json: {
      const std::string_view type = payload == payload_type::json ? "json" : "jsonb";
      if (is_json(one)) return cast(one, type);
      if (is_text(one)) return cast_text(one, type);
      return no(type, "jsonb, json, or a text that is JSON");
    }
    case payload_type::text:
      if (is_text(one) || is_json(one) || one.base == "xml") return cast(one, "text");
      return no("text", "a text, jsonb, json or xml");
    case payload_type::bytea:
      if (one.base == "bytea") return value_of(one);
      if (is_text(one) || is_json(one))
        return fmt::format("pg_catalog.convert_to({}, 'UTF8')", cast(one, "text"));
      return no("bytea", "bytea, a text, jsonb or json");
  }
  return no("", "");
}

result<std::string> fit(const source_column& one, event_field field, payload_type payload) {
  switch (field) {
    case event_field::id:
      return fit_id(one);
    case event_field::available_at:
      return fit_time(one);
    case event_field::payload:
      return fit_payload(one, payload);
    case event_field::headers:
      return fit_headers(one);
    case event_field::aggregate_type:
    case event_field::aggregate_id:
    case event_field::event_type:
    case event_field::exchange:
    case event_field::routing_key:
      return fit_text(one, field);
  }
  return misfit(one, field, "");
}

tl::unexpected<error> no_column(const source_table& from, const std::string& name, std::string_view option) {
  std::string all;
  for (const auto& one : from.columns) all += (all.empty() ? "" : ", ") + one.name;
  return permanent(fmt::format("{}: {} has no column {}; it has {}", option, from.shown(), name, all));
}

// A null column yields no header, so a nullable column is added only if it has a value.
result<std::string> all_headers(const source_table& from, const column_mapping& mapping,
                                const std::string& own) {
  constexpr std::string_view append = " OPERATOR(pg_catalog.||) ";
  constexpr std::string_view none = "'{}'::pg_catalog.jsonb";
  std::string out = own.empty() ? "" : fmt::format("COALESCE({}, {})", own, none);
  for (const auto& one : mapping.headers) {
    const auto* const column = from.find(one.column);
    if (column == nullptr) return no_column(from, one.column, "--header " + one.name);
    auto built =
        fmt::format("pg_catalog.jsonb_build_object({}, {})", quoted_text(one.name), value_of(*column));
    if (!column->not_null)
      built = fmt::format("CASE WHEN {} IS NULL THEN {} ELSE {} END", value_of(*column), none, built);
    out += fmt::format("{}{}", out.empty() ? "" : append, built);
  }
  return out;
}

}  // namespace

result<std::vector<event_expression>> fit_columns(const source_table& from, const column_mapping& mapping,
                                                  payload_type payload) {
  std::vector<event_expression> out;
  std::string headers;
  for (const auto& [field, source] : mapping.fields) {
    if (source.what == field_source::kind::constant) {
      out.push_back({field, quoted_text(source.text)});
      continue;
    }
    const auto* const column = from.find(source.text);
    if (column == nullptr)
      return no_column(from, source.text, fmt::format("the {} of an event", name_of(field)));
    OUTBOXD_TRY(auto fitted, fit(*column, field, payload));
    if (field == event_field::headers)
      headers = std::move(fitted);
    else
      out.push_back({field, std::move(fitted)});
  }
  OUTBOXD_TRY(auto all, all_headers(from, mapping, headers));
  if (!all.empty()) out.push_back({event_field::headers, std::move(all)});
  return out;
}

}  // namespace outboxd::app
