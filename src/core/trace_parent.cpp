#include "core/trace_parent.hpp"

#include <charconv>

#include "core/event_headers.hpp"

namespace outboxd {
namespace {

// Lower case only, as the W3C recommendation requires.
bool is_hex(std::string_view text) {
  return text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

bool is_zero(std::string_view text) {
  return text.find_first_not_of('0') == std::string_view::npos;
}

}  // namespace

std::optional<trace_parent> parse_trace_parent(std::string_view traceparent) {
  constexpr std::size_t length = 55;  // 2 + 1 + 32 + 1 + 16 + 1 + 2
  if (traceparent.size() < length) return std::nullopt;
  const auto version = traceparent.substr(0, 2);
  const auto trace = traceparent.substr(3, 32);
  const auto span = traceparent.substr(36, 16);
  const auto flags = traceparent.substr(53, 2);
  for (const std::size_t dash : {2U, 35U, 52U})
    if (traceparent[dash] != '-') return std::nullopt;
  for (const auto part : {version, trace, span, flags})
    if (!is_hex(part)) return std::nullopt;
  if (version == "ff" || is_zero(trace) || is_zero(span)) return std::nullopt;
  // A later version may append more fields after another dash.
  if (traceparent.size() > length && (version == "00" || traceparent[length] != '-')) return std::nullopt;
  trace_parent out{.trace_id = trace, .span_id = span};
  std::from_chars(flags.data(), flags.data() + flags.size(), out.flags, 16);
  return out;
}

std::optional<std::string> trace_id_of_headers(std::string_view headers) {
  const auto parent = find_header(headers, traceparent_header);
  if (!parent || !parent->is_text) return std::nullopt;
  const auto valid = parse_trace_parent(parent->text);
  return valid ? std::optional<std::string>(valid->trace_id) : std::nullopt;
}

}  // namespace outboxd
