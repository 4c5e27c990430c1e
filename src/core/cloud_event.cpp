#include "core/cloud_event.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/base64.hpp"
#include "core/event_headers.hpp"
#include "core/iso8601.hpp"
#include "core/json_text.hpp"

namespace outboxd {
namespace {

struct attribute {
  std::string_view name;
  std::string value;
};

// The String type of CloudEvents excludes U+0000 to U+001F and U+007F to U+009F.
bool has_control_characters(std::string_view text) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if (byte < 0x20 || byte == 0x7F) return true;
    if (byte == 0xC2 && at + 1 < text.size() && static_cast<unsigned char>(text[at + 1]) < 0xA0) return true;
  }
  return false;
}

result<std::vector<attribute>> attributes_of(const event& from, const cloudevents_settings& by) {
  if (from.event_type.empty()) return permanent("its event type is empty, and CloudEvents requires a type");
  for (const auto& [name, text] :
       {std::pair("event type", from.event_type), std::pair("aggregate type", from.aggregate_type),
        std::pair("aggregate id", from.aggregate_id)})
    if (has_control_characters(text))
      return permanent(fmt::format("its {} has control characters, which CloudEvents does not allow", name));
  std::vector<attribute> out{{"specversion", "1.0"},
                             {"id", to_string(from.id)},
                             {"source", by.source},
                             {"type", std::string(from.event_type)}};
  if (!from.aggregate_id.empty()) out.push_back({"subject", std::string(from.aggregate_id)});
  if (is_common_time(from.created_at)) out.push_back({"time", to_iso8601(from.created_at)});
  out.push_back({"sequence", fmt::format("{:019}", from.seq)});
  if (!from.aggregate_id.empty()) out.push_back({"partitionkey", std::string(from.aggregate_id)});
  if (!from.aggregate_type.empty()) out.push_back({"aggregatetype", std::string(from.aggregate_type)});
  for (const std::string_view name : {"traceparent", "tracestate"}) {
    auto value = find_header(from.headers, name);
    if (value && value->is_text && !value->text.empty() && !has_control_characters(value->text))
      out.push_back({name, std::move(value->text)});
  }
  return out;
}

}  // namespace

bool is_json_type(std::string_view content_type) {
  std::string type(content_type.substr(0, content_type.find(';')));
  while (!type.empty() && type.back() == ' ') type.pop_back();
  std::transform(type.begin(), type.end(), type.begin(), [](unsigned char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : static_cast<char>(c);
  });
  return type == "application/json" || type == "text/json" || type.ends_with("+json");
}

result<std::string> structured_cloud_event(const event& from, payload_type payload,
                                           const cloudevents_settings& by, std::string_view content_type) {
  OUTBOXD_TRY(const auto attributes, attributes_of(from, by));
  std::string out;
  out.reserve(from.payload.size() * (payload == payload_type::bytea ? 4 : 3) / 3 + 600);
  for (const auto& [name, value] : attributes) {
    out += out.empty() ? '{' : ',';
    out += fmt::format("\"{}\":", name);
    append_json_string(out, value);
  }
  out += ",\"datacontenttype\":";
  append_json_string(out, content_type);
  switch (payload) {
    case payload_type::jsonb:
    case payload_type::json:
      out += ",\"data\":";
      out += from.payload;
      break;
    case payload_type::text:
      out += ",\"data\":";
      if (!is_json_type(content_type)) {
        append_json_string(out, from.payload);
        break;
      }
      if (!nlohmann::json::accept(from.payload))
        return permanent(fmt::format("its payload is not JSON, and its content type is {}", content_type));
      out += from.payload;
      break;
    case payload_type::bytea:
      out += ",\"data_base64\":\"";
      append_base64(out, from.payload);
      out += '"';
      break;
  }
  out += '}';
  return out;
}

result<std::vector<message_header>> cloud_event_headers(const event& from, const cloudevents_settings& by) {
  OUTBOXD_TRY(auto attributes, attributes_of(from, by));
  std::vector<message_header> out;
  for (auto& [name, value] : attributes)
    out.push_back({by.header_prefix + std::string(name), std::move(value)});
  return out;
}

}  // namespace outboxd
