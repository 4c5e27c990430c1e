// changing: reads and checks the values for events before any event is changed.

#include <fmt/format.h>

#include <iostream>
#include <iterator>

#include "app/config/text_file.hpp"
#include "app/operate/changing.hpp"

namespace outboxd::app {
namespace {

outcome<std::string> content_of(std::string_view flag, const std::optional<std::string>& given,
                                const std::string& path) {
  if (given) return *given;
  if (path == "-") return std::string(std::istreambuf_iterator<char>(std::cin), {});
  auto text = read_text_file(path);
  if (!text) return usage_failure(fmt::format("{}: {}: {}", flag, path, text.error().message));
  return std::move(*text);
}

std::string as_bytea(std::string_view bytes) {
  std::string out = "\\x";
  for (const char c : bytes) out += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return out;
}

outcome<std::vector<change_value>> postponement(operator_session& session, const order& given) {
  if (!given.until)
    return usage_failure("events postpone needs --to: a time ('2026-01-31 14:00' UTC) or how long (2h)");
  OUTBOXD_TRY(auto time, session.resolve_time("--to", *given.until, operator_session::counted::ahead));
  const auto ahead =
      session.execute("SELECT $1::timestamptz > clock_timestamp() AND $1::timestamptz < 'infinity'", {time});
  if (!ahead) return tl::make_unexpected(ahead.error());
  if (ahead->at(0, 0) == "f")
    return usage_failure(
        fmt::format("--to '{}' is no time to come; give one, or how long, such as 2h", *given.until));
  return std::vector<change_value>{{"until", "${}::timestamptz", std::move(time)}};
}

// Casts a text to the column's type, and keeps bytes as they are.
outcome<std::string> payload_expression(operator_session& session) {
  constexpr auto found_sql =
      "SELECT format_type(a.atttypid, NULL) FROM pg_attribute AS a"
      " WHERE a.attrelid = format('%I.event', $1::text)::regclass AND a.attname = 'payload'";
  OUTBOXD_TRY(const auto found, session.execute(found_sql, {session.schema().name()}));
  if (found.at(0, 0) == "bytea") return "${}::bytea";
  return fmt::format("convert_from(${{}}::bytea, 'UTF8')::{}", found.at(0, 0));
}

outcome<void> check_edit(const event_edit& given) {
  if (given.event_type && given.event_type->empty())
    return usage_failure("--set-event-type is empty; give for example --set-event-type order.created");
  if (given.payload_file == "-" && given.headers_file == "-")
    return usage_failure("--set-payload and --set-headers cannot both be read from standard input");
  return {};
}

outcome<std::vector<change_value>> edits(operator_session& session, const event_edit& given) {
  OUTBOXD_TRY_VOID(check_edit(given));
  std::vector<change_value> out;
  if (given.payload || given.payload_file) {
    OUTBOXD_TRY(const auto content,
                content_of("--set-payload", given.payload, given.payload_file.value_or("")));
    OUTBOXD_TRY(auto expression, payload_expression(session));
    out.push_back({"payload", std::move(expression), as_bytea(content)});
  }
  if (given.headers || given.headers_file) {
    OUTBOXD_TRY(const auto content,
                content_of("--set-headers", given.headers, given.headers_file.value_or("")));
    out.push_back({"headers", "convert_from(${}::bytea, 'UTF8')::jsonb", as_bytea(content)});
  }
  for (const auto& [name, value] :
       {std::pair{"event_type", &given.event_type}, std::pair{"exchange", &given.exchange},
        std::pair{"routing_key", &given.routing_key}})
    if (*value) out.push_back({name, "${}::text", **value});
  if (given.by_route) out.push_back({"by_route", "${}::boolean", "t"});
  if (out.empty())
    return usage_failure(
        "events edit needs to know what to change: give --set-payload, --set-headers, --set-event-type, "
        "--set-exchange, --set-routing-key or --by-route");
  if (given.retry) out.push_back({"retry", "${}::boolean", "t"});
  return out;
}

}  // namespace

outcome<std::vector<change_value>> values_of(operator_session& session, const order& given) {
  if (given.what == deed::postpone) return postponement(session, given);
  if (given.what == deed::edit) return edits(session, given.edit);
  return std::vector<change_value>();
}

}  // namespace outboxd::app
