#include "core/envelope.hpp"

#include <fmt/compile.h>

#include <array>

namespace outboxd {
namespace {

std::string_view content_type_of(payload_type payload) {
  switch (payload) {
    case payload_type::jsonb:
    case payload_type::json:
      return "application/json";
    case payload_type::text:
      return "text/plain";
    case payload_type::bytea:
      return "application/octet-stream";
  }
  return "application/octet-stream";
}

}  // namespace

std::string to_iso8601(timestamp at) {
  using namespace std::chrono;
  const auto day = floor<days>(at);
  const year_month_day date{day};
  const hh_mm_ss time{at - day};
  std::array<char, 40> text;  // a timestamp's year has six digits at most
  char* const end = fmt::format_to(text.data(), FMT_COMPILE("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z"),
                                   static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                                   static_cast<unsigned>(date.day()), time.hours().count(),
                                   time.minutes().count(), time.seconds().count(), time.subseconds().count());
  return {text.data(), end};
}

message envelope(const event& from, payload_type payload, const routing& by) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(from.created_at).time_since_epoch().count();
  return message{
      .exchange = from.exchange ? *from.exchange : std::string_view(by.exchange),
      .routing_key = std::string(from.routing_key ? *from.routing_key : from.event_type),
      .message_id = to_string(from.id),
      .type = from.event_type,
      .content_type = content_type_of(payload),
      .timestamp = seconds > 0 ? static_cast<std::uint64_t>(seconds) : 0,
      .aggregate_type = from.aggregate_type,
      .aggregate_id = from.aggregate_id,
      .seq = from.seq,
      .occurred_at = to_iso8601(from.created_at),
      .headers = from.headers,
      .body = from.payload,
  };
}

}  // namespace outboxd
