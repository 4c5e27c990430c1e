#include "app/adopt/mapping.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>

namespace outboxd::app {
namespace {

using named_field = std::pair<std::string_view, event_field>;
constexpr std::array fields{
    named_field{"id", event_field::id},
    named_field{"available_at", event_field::available_at},
    named_field{"aggregate_type", event_field::aggregate_type},
    named_field{"aggregate_id", event_field::aggregate_id},
    named_field{"event_type", event_field::event_type},
    named_field{"payload", event_field::payload},
    named_field{"headers", event_field::headers},
    named_field{"exchange", event_field::exchange},
    named_field{"routing_key", event_field::routing_key},
};
constexpr std::array required{event_field::aggregate_type, event_field::aggregate_id, event_field::event_type,
                              event_field::payload};

std::optional<event_field> field_of(std::string_view name) {
  const auto* const found =
      std::find_if(fields.begin(), fields.end(), [&](const named_field& one) { return one.first == name; });
  if (found == fields.end()) return std::nullopt;
  return found->second;
}

std::string all_fields() {
  std::vector<std::string_view> names;
  for (const auto& [name, field] : fields) names.push_back(name);
  return fmt::format("{}", fmt::join(names, ", "));
}

// Debezium also sends rows without a payload, and never makes an INSERT fail.
//
// Spring Modulith has no aggregates: each publication becomes its own aggregate, so no event waits for
// another. Modulith reads its rows again, so they are kept.
std::optional<column_mapping> mapping_of(std::string_view preset) {
  using enum event_field;
  const auto column = [](const char* name) { return field_source{field_source::kind::column, name}; };
  if (preset.empty()) return column_mapping{};
  if (preset == "debezium")
    return column_mapping{{{id, column("id")},
                           {aggregate_type, column("aggregatetype")},
                           {aggregate_id, column("aggregateid")},
                           {event_type, column("type")},
                           {payload, column("payload")}},
                          {},
                          false,
                          {.null_payload = "json-null", .unfit = "skip"}};
  if (preset == "spring-modulith")
    return column_mapping{{{id, column("id")},
                           {aggregate_type, column("event_type")},
                           {aggregate_id, column("id")},
                           {event_type, column("event_type")},
                           {payload, column("serialized_event")}},
                          {},
                          true,
                          {}};
  return std::nullopt;
}

struct name_and_value {
  std::string name, value;
};
std::optional<name_and_value> split(const std::string& text) {
  const auto at = text.find('=');
  if (at == std::string::npos || at == 0) return std::nullopt;
  return name_and_value{text.substr(0, at), text.substr(at + 1)};
}

// Returns it's for 'it''s'; nullopt if the input is not a quoted text.
std::optional<std::string> constant_of(const std::string& value) {
  if (value.size() < 2 || value.front() != '\'' || value.back() != '\'') return std::nullopt;
  std::string out;
  for (std::size_t i = 1; i + 1 < value.size(); ++i) {
    if (value[i] == '\'' && (i + 2 >= value.size() || value[++i] != '\'')) return std::nullopt;
    out.push_back(value[i]);
  }
  return out;
}

bool may_be_constant(event_field which) {
  return which == event_field::aggregate_type || which == event_field::event_type ||
         which == event_field::exchange || which == event_field::routing_key;
}

result<void> add_map(column_mapping& to, std::set<event_field>& given, const std::string& text) {
  const auto parts = split(text);
  if (!parts)
    return permanent(
        fmt::format("--map '{}' is not allowed; give FIELD=COLUMN, for example --map event_type=type", text));
  const auto field = field_of(parts->name);
  if (!field)
    return permanent(
        fmt::format("--map '{}': an event has no '{}'; it has {}", text, parts->name, all_fields()));
  if (!given.insert(*field).second)
    return permanent(fmt::format("--map {}=… is given more than once", parts->name));
  if (parts->value.empty()) {
    to.fields.erase(*field);
    return {};
  }
  if (!parts->value.starts_with('\'')) {
    to.fields[*field] = {field_source::kind::column, parts->value};
    return {};
  }
  const auto constant = constant_of(parts->value);
  if (!constant || constant->empty() || !may_be_constant(*field))
    return permanent(
        fmt::format("--map \"{}\" is not allowed; a text in single quotes may be the aggregate_type, "
                    "event_type, exchange or routing_key of all events, and is not empty",
                    text));
  to.fields[*field] = {field_source::kind::constant, *constant};
  return {};
}

result<void> add_header(column_mapping& to, const std::string& text) {
  constexpr std::size_t longest_name = 255;  // AMQP's short string
  const auto parts = split(text);
  if (!parts || parts->value.empty())
    return permanent(fmt::format(
        "--header '{}' is not allowed; give NAME=COLUMN, for example --header tenant=tenant_id", text));
  if (parts->name.size() > longest_name)
    return permanent(fmt::format("--header: the name '{:.20}…' has {} bytes; up to {} are allowed",
                                 parts->name, parts->name.size(), longest_name));
  const auto same = [&](const header_source& one) { return one.name == parts->name; };
  if (std::any_of(to.headers.begin(), to.headers.end(), same))
    return permanent(fmt::format("--header {}=… is given more than once", parts->name));
  to.headers.push_back({parts->name, parts->value});
  return {};
}

}  // namespace

std::string_view name_of(event_field which) {
  return fields.at(static_cast<std::size_t>(which)).first;
}

result<column_mapping> read_mapping(const std::string& preset, const std::vector<std::string>& maps,
                                    const std::vector<std::string>& headers) {
  auto out = mapping_of(preset);
  if (!out)
    return permanent(fmt::format("--preset '{}' is not allowed; give debezium or spring-modulith", preset));
  std::set<event_field> given;
  for (const auto& one : maps) OUTBOXD_TRY_VOID(add_map(*out, given, one));
  for (const auto& one : headers) OUTBOXD_TRY_VOID(add_header(*out, one));
  for (const auto field : required)
    if (!out->fields.contains(field))
      return permanent(
          fmt::format("no column is mapped to {0}; give --map {0}=COLUMN{1}", name_of(field),
                      preset.empty() ? ", or --preset debezium for a table with Debezium's columns" : ""));
  return *out;
}

}  // namespace outboxd::app
