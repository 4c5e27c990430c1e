#include "app/operate/event_payload.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "store/text_size.hpp"

namespace outboxd::app {

outcome<std::int64_t> text_size(operator_session& session, const std::string& id, std::int64_t most) {
  const auto ask = [&](const std::string& what) {
    return session.execute(fmt::format("SELECT {} FROM {{0}}.event AS e WHERE e.id = $1::uuid LIMIT 1", what),
                           {id});
  };
  OUTBOXD_TRY(const auto type, ask("pg_typeof(e.payload)::text"));
  if (type.size() == 0) return 0;
  std::string size =
      fmt::format("{} + {} + {}", store::unpacked_size("e.payload"), store::unpacked_size("e.headers"),
                  store::size_of_numbers("e.headers", most));
  if (type.at(0, 0) == "jsonb") size += " + " + store::size_of_numbers("e.payload", most);
  const auto bytes = ask("max(" + size + ")");  // `max`: several events may have this id
  if (!bytes && bytes.error().of_a_row) return 0;
  if (!bytes) return tl::make_unexpected(bytes.error());
  return bytes->size() == 0 ? 0 : bytes->number_at(0, 0);
}

namespace {

using nlohmann::json;

constexpr std::int64_t most_looked_at = 4'000'000;  // bytes of payload and headers as text
constexpr int shown_characters = 65'536;
constexpr int shown_of_headers = 16'384;  // characters of the headers
constexpr int shown_bytes = 4'096;        // bytes of a bytea payload

json not_shown(std::string why) {
  return {{"payload", nullptr}, {"why", std::move(why)}};
}

outcome<pg::rows> read(operator_session& session, const std::string& type, const std::string& id,
                       const std::string& seq) {
  const auto part = type == "bytea"
                        ? fmt::format(
                              "octet_length(e.payload), least(octet_length(e.payload), {0}),"
                              " encode(substring(e.payload FROM 1 FOR {0}), 'hex')",
                              shown_bytes)
                        : fmt::format(
                              "octet_length(e.payload::text), octet_length(left(e.payload::text, {0})),"
                              " left(e.payload::text, {0})",
                              shown_characters);
  return session.execute(fmt::format("SELECT {}, left(e.headers::text, {}) FROM {{0}}.event AS e"
                                     " WHERE e.id = $1::uuid AND e.seq = $2::bigint",
                                     part, shown_of_headers),
                         {id, seq});
}

}  // namespace

outcome<json> look_at_payload(operator_session& session, const std::string& id, const std::string& seq) {
  constexpr auto type_sql =
      "SELECT pg_typeof(e.payload)::text FROM {0}.event AS e WHERE "
      "e.id = $1::uuid AND e.seq = $2::bigint";
  OUTBOXD_TRY(const auto type, session.execute(type_sql, {id, seq}));
  if (type.size() == 0) return json();
  OUTBOXD_TRY(const auto size, text_size(session, id, most_looked_at));
  if (size > most_looked_at)
    return not_shown(
        fmt::format("with the headers it has about {} bytes, and the console shows none of more than {}; "
                    "`outboxd events show "
                    "--payload` does",
                    size, most_looked_at));
  const auto found = read(session, std::string(type.at(0, 0)), id, seq);
  if (!found && found.error().of_a_row)
    return not_shown("PostgreSQL cannot read it, or cannot convert it to UTF-8");
  if (!found) return tl::make_unexpected(found.error());
  if (found->size() == 0) return json();
  return json{{"type", type.at(0, 0)},
              {"bytes", found->number_at(0, 0)},
              {"shown_bytes", found->number_at(0, 1)},
              {"payload", found->at(0, 2)},
              {"headers", found->at(0, 3)}};
}

}  // namespace outboxd::app
