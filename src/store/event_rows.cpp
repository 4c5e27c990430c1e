#include "store/event_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <span>

#include "pg/answer_shape.hpp"
#include "pg/binary.hpp"
#include "store/event_columns.hpp"

namespace outboxd::store {
namespace {

constexpr Oid oid_bytea = 17;
constexpr Oid oid_text = 25;
constexpr Oid oid_json = 114;
constexpr Oid oid_jsonb = 3802;

constexpr auto all_event_columns = static_cast<std::size_t>(event_column::behind) + 1;

constexpr std::array<pg::cell_shape, all_event_columns> event_cells() {
  std::array<pg::cell_shape, all_event_columns> out{};
  for (pg::cell_shape& one : out) one.may_be_null = true;
  const auto set = [&](event_column which, pg::cell_shape to) {
    out.at(static_cast<std::size_t>(which)) = to;
  };
  set(event_column::id, {.bytes = 16});
  set(event_column::place, {.bytes = 6});
  for (const auto which : {event_column::seq, event_column::tx, event_column::hash, event_column::created_at,
                           event_column::available_at})
    set(which, pg::number_cell);
  for (const auto which : {event_column::size, event_column::attempts, event_column::due_in,
                           event_column::waits_for, event_column::first_failed_at})
    set(which, pg::number_or_null_cell);
  set(event_column::behind, pg::boolean_cell);
  return out;
}

// The columns that are set in every event whose texts are not withheld.
constexpr std::array texts{event_column::aggregate_type, event_column::aggregate_id, event_column::event_type,
                           event_column::payload, event_column::headers};

flow::exception exception_of(std::optional<std::string_view> name) {
  if (!name) return flow::exception::none;
  if (*name == "scheduled") return flow::exception::scheduled;
  if (*name == "backing_off") return flow::exception::backing_off;
  if (*name == "parked") return flow::exception::parked;
  return flow::exception::dead;
}

// Returns true if the broker closed a channel or a connection because of the event.
bool is_suspect(std::optional<std::string_view> failure) {
  return failure == "channel_closed" || failure == "connection_closed";
}

// Returns the transaction that last wrote the row; null means the transaction that inserted it.
std::uint32_t writer_of(std::optional<std::string_view> number, std::uint64_t inserted_by) {
  auto out = static_cast<std::uint32_t>(inserted_by);
  if (number) std::from_chars(number->data(), number->data() + number->size(), out);
  return out;
}

std::int64_t size_of_texts(const event& of) {
  std::size_t out = of.aggregate_type.size() + of.aggregate_id.size() + of.event_type.size() +
                    of.payload.size() + of.headers.size();
  if (of.exchange) out += of.exchange->size();
  if (of.routing_key) out += of.routing_key->size();
  return static_cast<std::int64_t>(out);
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

nlohmann::json read_head(const pg::rows& from, int row) {
  if (row >= from.size() || !from.is_null(row, static_cast<int>(event_column::id)))
    return nlohmann::json::object();
  auto out = nlohmann::json::parse(from.at(row, static_cast<int>(event_column::head)), nullptr, false);
  return out.is_object() ? out : nlohmann::json::object();
}

std::optional<std::int64_t> number_in(const nlohmann::json& head, const char* name) {
  const auto found = head.find(name);
  return found != head.end() && found->is_number_integer() ? std::optional(found->get<std::int64_t>())
                                                           : std::nullopt;
}

std::optional<std::string> misfit_of_events(const pg::rows& from, bool with_exceptions) {
  static constexpr auto cells = event_cells();
  const auto columns =
      static_cast<std::size_t>(with_exceptions ? event_column::behind : event_column::head) + 1;
  if (auto why = pg::misfit_of_columns(from, columns)) return why;
  bool heads = true;
  for (int row = 0; row < from.size(); ++row) {
    const bool is_head = from.is_null(row, static_cast<int>(event_column::id));
    if (is_head && (!heads || from.is_null(row, static_cast<int>(event_column::head))))
      return fmt::format("an event without an id in row {}", row + 1);
    heads = is_head;
    if (is_head) continue;
    if (auto why = pg::misfit_of_row(from, row, std::span(cells).first(columns))) return why;
    if (!from.is_null(row, static_cast<int>(event_column::size))) continue;
    for (const event_column one : texts)
      if (from.is_null(row, static_cast<int>(one)))
        return fmt::format("a null in column {} of row {}", static_cast<int>(one) + 1, row + 1);
  }
  return std::nullopt;
}

std::vector<flow::stored_event> read_events(const pg::rows& from) {
  std::vector<flow::stored_event> out;
  out.reserve(static_cast<std::size_t>(from.size()));
  const auto storage = from.storage();
  const bool of_exceptions = from.columns() > static_cast<int>(event_column::behind);
  for (int row = 0; row < from.size(); ++row) {
    const auto at = [&](event_column column) { return from.at(row, static_cast<int>(column)); };
    const auto find = [&](event_column column) { return from.find(row, static_cast<int>(column)); };
    const auto count = [&](event_column column) {
      const auto found = find(column);
      return found ? static_cast<std::int32_t>(pg::read_int8(*found)) : 0;
    };
    if (!find(event_column::id)) continue;
    auto& one = out.emplace_back();
    one.what = {.id = pg::read_uuid(at(event_column::id)),
                .place = pg::read_tid(at(event_column::place)),
                .seq = pg::read_int8(at(event_column::seq)),
                .tx = static_cast<std::uint64_t>(pg::read_int8(at(event_column::tx))),
                .aggregate = pg::read_int8(at(event_column::hash)),
                .aggregate_type = at(event_column::aggregate_type),
                .aggregate_id = at(event_column::aggregate_id),
                .event_type = at(event_column::event_type),
                .payload = at(event_column::payload),
                .headers = at(event_column::headers),
                .exchange = find(event_column::exchange),
                .routing_key = find(event_column::routing_key),
                .attempts = count(event_column::attempts),
                .created_at = pg::read_timestamp(at(event_column::created_at))};
    one.what.written_by = writer_of(find(event_column::head), one.what.tx);
    one.storage = storage;
    const auto size = find(event_column::size);
    one.what.has_texts = !size || pg::read_int8(*size) >= 0;
    // If the event's names are withheld, too, the event is fetched like others, and its names are checked
    // then.
    one.withheld = size && (one.what.has_texts || !find(event_column::aggregate_type));
    one.size = one.withheld ? std::max<std::int64_t>(pg::read_int8(*size), 0) : size_of_texts(one.what);
    if (const auto due_in = find(event_column::due_in))
      one.due_in = std::chrono::milliseconds(pg::read_int8(*due_in));
    if (!of_exceptions) continue;
    one.from = exception_of(find(event_column::exception));
    one.suspect = is_suspect(find(event_column::failure));
    if (const auto of = find(event_column::waits_for))
      one.waits_for = static_cast<flow::destination_id>(pg::read_int8(*of));
    if (const auto since = find(event_column::first_failed_at))
      one.first_failed_at = pg::read_timestamp(*since);
    one.earlier_waits = find(event_column::behind) == "\1";
  }
  return out;
}

}  // namespace outboxd::store
