#include "pg/binary.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "core/big_endian.hpp"

namespace outboxd::pg {
namespace {

constexpr std::int32_t oid_bytea = 17;
constexpr std::int32_t oid_text = 25;
constexpr std::int32_t oid_int8 = 20;
constexpr std::int32_t oid_tid = 27;
constexpr std::int32_t oid_xid = 28;
constexpr std::int32_t oid_uuid = 2950;
constexpr std::int32_t oid_xid8 = 5069;

// Reads an integer at the beginning of the field; 0 if the field is too short.
template <class Integer>
Integer read(std::string_view field) {
  return field.size() >= sizeof(Integer) ? load_big_endian<Integer>(field.data()) : 0;
}

// The format of array_recv: number of dimensions, has-nulls flag, element type, then length and lower bound
// of each dimension.
std::string array_header(std::int32_t element_type, std::size_t size, bool nulls) {
  std::string out;
  append_big_endian<std::int32_t>(out, size == 0 ? 0 : 1);
  append_big_endian<std::int32_t>(out, nulls ? 1 : 0);
  append_big_endian(out, element_type);
  if (size != 0) {
    append_big_endian(out, static_cast<std::int32_t>(size));
    append_big_endian<std::int32_t>(out, 1);
  }
  return out;
}

template <class Value, class Append>
std::string nullable_array(std::int32_t element_type, std::span<const std::optional<Value>> values,
                           Append&& element) {
  const bool nulls = std::any_of(values.begin(), values.end(), [](const auto& value) { return !value; });
  std::string out = array_header(element_type, values.size(), nulls);
  for (const auto& value : values) {
    if (value) {
      element(out, *value);
    } else {
      append_big_endian<std::int32_t>(out, -1);
    }
  }
  return out;
}

// All elements have this size; `store` writes an element at its position.
template <std::size_t size, class Value, class Store>
std::string fixed_array(std::int32_t element_type, std::span<const Value> values, Store&& store) {
  std::string out = array_header(element_type, values.size(), false);
  auto at = out.size();
  out.resize(at + values.size() * (sizeof(std::int32_t) + size));
  for (const Value& value : values) {
    store_big_endian<std::int32_t>(&out[at], size);
    store(&out[at + sizeof(std::int32_t)], value);
    at += sizeof(std::int32_t) + size;
  }
  return out;
}

template <class Value>
std::string array_of_bytes(std::int32_t element_type, std::span<const Value> values) {
  return fixed_array<sizeof(Value::bytes)>(element_type, values, [](char* at, const Value& value) {
    std::memcpy(at, value.bytes.data(), sizeof value.bytes);
  });
}

template <class Integer>
std::string array_of_integers(std::int32_t element_type, std::span<const Integer> values) {
  return fixed_array<sizeof(Integer)>(element_type, values,
                                      [](char* at, Integer value) { store_big_endian(at, value); });
}

}  // namespace

std::string tid_array(std::span<const row_place> values) {
  return array_of_bytes(oid_tid, values);
}

std::string uuid_array(std::span<const event_id> values) {
  return array_of_bytes(oid_uuid, values);
}

std::string int8_array(std::span<const std::optional<std::int64_t>> values) {
  return nullable_array(oid_int8, values, [](std::string& out, std::int64_t value) {
    append_big_endian<std::int32_t>(out, 8);
    append_big_endian(out, value);
  });
}

std::string int8_array(std::span<const std::int64_t> values) {
  return array_of_integers(oid_int8, values);
}

std::string xid_array(std::span<const std::uint32_t> values) {
  return array_of_integers(oid_xid, values);
}

std::string bytea_array(std::span<const std::string> values) {
  std::string out = array_header(oid_bytea, values.size(), false);
  for (const std::string& value : values) {
    append_big_endian(out, static_cast<std::int32_t>(value.size()));
    out += value;
  }
  return out;
}

std::string xid8_array(std::span<const std::uint64_t> values) {
  return array_of_integers(oid_xid8, values);
}

std::string text_array(std::span<const std::optional<std::string>> values) {
  return nullable_array(oid_text, values, [](std::string& out, const std::string& value) {
    append_big_endian(out, static_cast<std::int32_t>(value.size()));
    out += value;
  });
}

std::string int4(std::int32_t value) {
  std::string out;
  append_big_endian(out, value);
  return out;
}

std::string int8(std::int64_t value) {
  std::string out;
  append_big_endian(out, value);
  return out;
}

std::int16_t read_int2(std::string_view field) {
  return read<std::int16_t>(field);
}
std::int32_t read_int4(std::string_view field) {
  return read<std::int32_t>(field);
}
std::int64_t read_int8(std::string_view field) {
  return read<std::int64_t>(field);
}
// The format of array_send: dimensions, flags, type; size and lower bound; then each element after its
// length.
std::vector<std::int64_t> read_int8_array(std::string_view field) {
  constexpr std::size_t header = 20;
  constexpr std::size_t element = 4 + 8;
  std::vector<std::int64_t> out;
  if (field.size() < header) return out;
  for (field.remove_prefix(header); field.size() >= element; field.remove_prefix(element))
    out.push_back(read_int8(field.substr(4)));
  return out;
}
bool read_bool(std::string_view field) {
  return !field.empty() && field.front() != 0;
}

row_place read_tid(std::string_view field) {
  row_place out;
  std::memcpy(out.bytes.data(), field.data(), std::min(field.size(), out.bytes.size()));
  return out;
}

event_id read_uuid(std::string_view field) {
  event_id id;
  std::memcpy(id.bytes.data(), field.data(), std::min(field.size(), id.bytes.size()));
  return id;
}

std::string boolean(bool value) {
  return std::string(1, value ? '\1' : '\0');
}

namespace {

constexpr timestamp epoch = std::chrono::sys_days(std::chrono::year{2000} / 1 / 1);

}  // namespace

std::string timestamptz(timestamp value) {
  if (value == timestamp::min()) return int8(std::numeric_limits<std::int64_t>::min());
  if (value == timestamp::max()) return int8(std::numeric_limits<std::int64_t>::max());
  return int8((value - epoch).count());
}

timestamp read_timestamp(std::string_view field) {
  const std::chrono::microseconds since(read<std::int64_t>(field));
  if (since > timestamp::max() - epoch) return timestamp::max();                           // 'infinity'
  if (since.count() == std::numeric_limits<std::int64_t>::min()) return timestamp::min();  // '-infinity'
  return epoch + since;
}

}  // namespace outboxd::pg
