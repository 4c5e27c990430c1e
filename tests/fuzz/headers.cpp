// Fuzzes an event's headers: JSON to a field table, encoded and decoded again by rabbitmq-c. The values that
// come out are those that a JSON parser reads, and nothing of a refused value is shown.
#include <bit>
#include <nlohmann/json.hpp>
#include <string>

#include "amqp/field_table.hpp"
#include "amqp/rabbitmq.hpp"
#include "core/broker_headers.hpp"
#include "input.hpp"

using namespace outboxd;
using fuzz::must;
using nlohmann::json;

namespace {

constexpr std::size_t room = 4096;
constexpr std::size_t standard = 4;  // the relay's own headers

// Tells -0.0 from 0.0.
std::uint64_t bits(double value) {
  return std::bit_cast<std::uint64_t>(value);
}

bool same(const amqp_field_value_t& got, const json& want);

bool same_table(const amqp_table_t& got, const json& want) {
  if (static_cast<std::size_t>(got.num_entries) != want.size()) return false;
  for (int i = 0; i < got.num_entries; ++i) {
    const auto found = want.find(std::string(amqp::as_view(got.entries[i].key)));
    if (found == want.end() || !same(got.entries[i].value, *found)) return false;
  }
  return true;
}

bool same_array(const amqp_array_t& got, const json& want) {
  if (static_cast<std::size_t>(got.num_entries) != want.size()) return false;
  for (int i = 0; i < got.num_entries; ++i)
    if (!same(got.entries[i], want[static_cast<std::size_t>(i)])) return false;
  return true;
}

bool same(const amqp_field_value_t& got, const json& want) {
  switch (got.kind) {
    case AMQP_FIELD_KIND_VOID:
      return want.is_null();
    case AMQP_FIELD_KIND_BOOLEAN:
      return want.is_boolean() && want.get<bool>() == (got.value.boolean != 0);
    case AMQP_FIELD_KIND_I64:
      return want.is_number_integer() && want.get<std::int64_t>() == got.value.i64;
    case AMQP_FIELD_KIND_F64:
      return want.is_number_float() && bits(want.get<double>()) == bits(got.value.f64);
    case AMQP_FIELD_KIND_UTF8:
      return want.is_string() && want.get_ref<const std::string&>() == amqp::as_view(got.value.bytes);
    case AMQP_FIELD_KIND_ARRAY:
      return want.is_array() && same_array(got.value.array, want);
    case AMQP_FIELD_KIND_TABLE:
      return want.is_object() && same_table(got.value.table, want);
    default:
      return false;
  }
}

// The broker's own headers are left out, and the standard ones replace the row's of the same name.
json expected(const message& from) {
  json all = json::object();
  const json own = json::parse(from.headers);
  for (const auto& [name, value] : own.items())
    if (!is_broker_header(name)) all[name] = value;
  all["aggregate_type"] = from.aggregate_type;
  all["aggregate_id"] = from.aggregate_id;
  all["seq"] = from.seq;
  all["occurred_at"] = from.occurred_at;
  return all;
}

void check(amqp_table_t table, const message& from) {
  std::string bytes(room + 1024, '\0');
  std::size_t end = 0;
  must(amqp_encode_table(amqp::as_bytes(bytes), &table, &end) == AMQP_STATUS_OK, "an accepted table fits");
  bytes.resize(end);
  amqp::pool pool;
  amqp_table_t decoded{};
  std::size_t offset = 0;
  must(amqp_decode_table(amqp::as_bytes(bytes), pool.get(), &decoded, &offset) == AMQP_STATUS_OK &&
           offset == end,
       "a consumer can read the table to its end");
  must(decoded.num_entries >= static_cast<int>(standard), "the relay's own headers are there");
  must(same_table(decoded, expected(from)), "what arrives is what the JSON says");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::input in(data, size);
  message from{};
  from.aggregate_type = "order";
  from.aggregate_id = "42";
  from.seq = 7;
  from.occurred_at = "2026-01-31T08:15:00.000042Z";
  from.headers = in.rest();
  amqp::field_table builder;
  const auto table = builder.build(from, room);
  if (table) {
    check(*table, from);
  } else {
    must(table.error().kind == fault::permanent, "bad headers do not get better");
    must(table.error().message.size() < 512, "an error is of bounded length");
  }
  return 0;
}
