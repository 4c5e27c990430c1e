#include "core/json_envelope.hpp"

#include "core/event_headers.hpp"
#include "core/iso8601.hpp"
#include "core/json_text.hpp"
#include "core/trace_parent.hpp"

namespace outboxd {

std::string json_envelope(const event& from) {
  std::string out;
  out.reserve(from.payload.size() + from.event_type.size() + from.aggregate_type.size() +
              from.aggregate_id.size() + 300);
  const auto put = [&](std::string_view name, std::string_view text) {
    out += name;
    append_json_string(out, text);
  };
  put(R"({"event_id":)", to_string(from.id));
  put(R"(,"event_type":)", from.event_type);
  put(R"(,"aggregate_type":)", from.aggregate_type);
  put(R"(,"aggregate_id":)", from.aggregate_id);
  out += R"(,"sequence":)" + std::to_string(from.seq);
  put(R"(,"occurred_at":)", to_iso8601(from.created_at));
  out += R"(,"schema_version":)";
  const auto version = find_header(from.headers, "schema_version");
  if (version && version->is_text)
    append_json_string(out, version->text);
  else
    out += version ? version->text : "null";
  out += R"(,"trace_id":)";
  if (const auto trace = trace_id_of_headers(from.headers))
    append_json_string(out, *trace);
  else
    out += "null";
  out += R"(,"data":)";
  out += from.payload;
  out += '}';
  return out;
}

}  // namespace outboxd
