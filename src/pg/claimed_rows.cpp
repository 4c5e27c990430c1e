#include "pg/claimed_rows.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "pg/binary.hpp"
#include "pg/outbox_statements.hpp"

namespace outboxd::pg {
namespace {

constexpr Oid oid_bytea = 17;
constexpr Oid oid_text = 25;
constexpr Oid oid_json = 114;
constexpr Oid oid_jsonb = 3802;

constexpr int index_of(claim_column column) {
  return static_cast<int>(column);
}

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

// They come shard after shard, or in the order of the pages. Before the events are made: those are large to move.
std::vector<int> in_seq_order(const rows& from) {
  std::vector<std::pair<std::int64_t, int>> all;
  all.reserve(static_cast<std::size_t>(from.size()));
  for (int row = 0; row < from.size(); ++row)
    all.emplace_back(read_int8(from.at(row, index_of(claim_column::seq))), row);
  std::sort(all.begin(), all.end());
  std::vector<int> out;
  out.reserve(all.size());
  for (const auto& [seq, row] : all) out.push_back(row);
  return out;
}

}  // namespace

result<batch> read_claim(Oid payloads, const rows& claimed) {
  const auto payload = payload_type_of(payloads);
  if (!payload) return permanent("the column payload of the outbox is none of jsonb, json, text and bytea");

  batch out;
  out.payload = *payload;
  out.storage = claimed.storage();
  out.events.reserve(static_cast<std::size_t>(claimed.size()));
  for (const int row : in_seq_order(claimed)) {
    const auto at = [&](claim_column column) { return claimed.at(row, index_of(column)); };
    const auto find = [&](claim_column column) { return claimed.find(row, index_of(column)); };
    const auto behind = find(claim_column::behind);
    const auto has_followers = find(claim_column::has_followers);
    out.withheld = out.withheld || !find(claim_column::aggregate_id);
    out.events.push_back({
        .id = read_uuid(at(claim_column::id)),
        .place = read_tid(at(claim_column::place)),
        .shard = read_int2(at(claim_column::shard)),
        .seq = read_int8(at(claim_column::seq)),
        .aggregate_type = at(claim_column::aggregate_type),
        .aggregate_id = at(claim_column::aggregate_id),
        .event_type = at(claim_column::event_type),
        .payload = at(claim_column::payload),
        .headers = at(claim_column::headers),
        .exchange = find(claim_column::exchange),
        .routing_key = find(claim_column::routing_key),
        .attempts = read_int4(at(claim_column::attempts)),
        .nacks = read_int2(at(claim_column::nacks)),
        .created_at = read_timestamp(at(claim_column::created_at)),
        .behind = behind ? std::optional(read_int8(*behind)) : std::nullopt,
        .has_followers = has_followers && read_bool(*has_followers),
    });
  }
  return out;
}

}  // namespace outboxd::pg
