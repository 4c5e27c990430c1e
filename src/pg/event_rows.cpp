#include "pg/event_rows.hpp"

#include "pg/binary.hpp"

namespace outboxd::pg {
namespace {

constexpr Oid oid_bytea = 17;
constexpr Oid oid_text = 25;
constexpr Oid oid_json = 114;
constexpr Oid oid_jsonb = 3802;

flow::exception exception_of(std::optional<std::string_view> name) {
  if (!name) return flow::exception::none;
  if (*name == "scheduled") return flow::exception::scheduled;
  if (*name == "backing_off") return flow::exception::backing_off;
  if (*name == "parked") return flow::exception::parked;
  return flow::exception::dead;
}

flow::excuse excuse_of(std::optional<std::string_view> failure) {
  if (failure == "not_sent") return flow::excuse::not_sent;
  if (failure == "destination_down" || failure == "topic_down") return flow::excuse::failed;
  if (failure == "exchange_not_sent") return flow::excuse::exchange_not_sent;
  if (failure == "exchange_down") return flow::excuse::exchange_failed;
  if (failure == "refused" || failure == "login_refused") return flow::excuse::refused;
  return flow::excuse::none;
}

// The broker closed a channel or a connection over it.
bool is_suspect(std::optional<std::string_view> failure) {
  return failure == "refused" || failure == "connection_closed" || failure == "exchange_down" ||
         failure == "topic_down" || failure == "login_refused";
}

}  // namespace

std::optional<payload_type> payload_type_of(Oid type) {
  switch (type) {
    case oid_bytea:
      return payload_type::bytea;
    case oid_text:
      return payload_type::text;
    case oid_json:
      return payload_type::json;
    case oid_jsonb:
      return payload_type::jsonb;
    default:
      return std::nullopt;
  }
}

std::vector<flow::stored_event> read_events(const rows& from) {
  std::vector<flow::stored_event> out;
  out.reserve(static_cast<std::size_t>(from.size()));
  const auto storage = from.storage();
  const bool of_due = from.columns() > static_cast<int>(event_column::behind);
  for (int row = 0; row < from.size(); ++row) {
    const auto at = [&](event_column column) { return from.at(row, static_cast<int>(column)); };
    const auto find = [&](event_column column) { return from.find(row, static_cast<int>(column)); };
    if (!find(event_column::id)) continue;
    const auto failure = find(event_column::failure);
    out.push_back({
        .what =
            {
                .id = read_uuid(at(event_column::id)),
                .place = read_tid(at(event_column::place)),
                .seq = read_int8(at(event_column::seq)),
                .aggregate = read_int8(at(event_column::hash)),
                .aggregate_type = at(event_column::aggregate_type),
                .aggregate_id = at(event_column::aggregate_id),
                .event_type = at(event_column::event_type),
                .payload = at(event_column::payload),
                .headers = at(event_column::headers),
                .exchange = find(event_column::exchange),
                .routing_key = find(event_column::routing_key),
                .attempts = read_int4(at(event_column::attempts)),
                .deferrals = read_int2(at(event_column::deferrals)),
                .created_at = read_timestamp(at(event_column::created_at)),
            },
        .from = exception_of(find(event_column::exception)),
        .withheld = !find(event_column::aggregate_id),
        .suspect = is_suspect(failure),
        .excused = excuse_of(failure),
        .earlier_waits = of_due && read_bool(at(event_column::behind)),
        .size = read_int8(at(event_column::size)),
        .storage = storage,
    });
  }
  return out;
}

}  // namespace outboxd::pg
