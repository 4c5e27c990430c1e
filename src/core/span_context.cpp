#include "core/span_context.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "core/event_headers.hpp"
#include "core/trace_parent.hpp"

namespace outboxd {
namespace {

// Of the flags, these are defined: sampled, and that the trace id is random. Others have to be sent as zero.
constexpr std::uint8_t known_flags = 0x03;

bool is_sampled(std::string_view traceparent) {
  const auto parent = parse_trace_parent(traceparent);
  return parent && parent->sampled();
}

std::string_view without_blanks(std::string_view json) {
  json.remove_prefix(std::min(json.find_first_not_of(" \t\n\r"), json.size()));
  return json;
}

// False only if no header traceparent can be sampled: most events need no parser then.
bool may_be_sampled(std::string_view headers) {
  constexpr std::string_view name = "\"traceparent\"";
  if (headers.find('\\') != std::string_view::npos) return true;
  for (auto at = headers.find(name); at != std::string_view::npos; at = headers.find(name, at)) {
    at += name.size();
    auto rest = without_blanks(headers.substr(at));
    if (!rest.starts_with(':')) continue;
    rest = without_blanks(rest.substr(1));
    if (rest.starts_with('"') && is_sampled(rest.substr(1, rest.find('"', 1) - 1))) return true;
  }
  return false;
}

// FNV-1a, for duplicates need the same id from every relay and version. The writer's span counts: a consumer
// may pass a message on under the same id.
std::string span_id_of(const event_id& id, std::string_view parent) {
  std::uint64_t hash = 14'695'981'039'346'656'037U;
  const auto add = [&hash](std::uint8_t byte) { hash = (hash ^ byte) * 1'099'511'628'211U; };
  for (const auto byte : id.bytes) add(byte);
  for (const char digit : parent) add(static_cast<std::uint8_t>(digit));
  return fmt::format("{:016x}", hash == 0 ? 1 : hash);  // zero is no span
}

}  // namespace

std::string span_context::traceparent() const {
  return fmt::format("00-{}-{}-{:02x}", trace_id, span_id, flags);
}

std::optional<span_context> span_context_of(const event& one) {
  if (!may_be_sampled(one.headers)) return std::nullopt;
  const auto header = find_header(one.headers, traceparent_header);
  if (!header || !header->is_text) return std::nullopt;
  const auto parent = parse_trace_parent(header->text);
  if (!parent || !parent->sampled()) return std::nullopt;
  return span_context{.trace_id = std::string(parent->trace_id),
                      .parent_id = std::string(parent->span_id),
                      .span_id = span_id_of(one.id, parent->span_id),
                      .flags = static_cast<std::uint8_t>(parent->flags & known_flags)};
}

}  // namespace outboxd
