// delivery: AMQP's properties and field tables as plain values.
#include "support/delivery.hpp"

#include <stdexcept>

#include "support/broker_connection.hpp"

namespace outboxd::test {
namespace {

using kinds = std::map<std::string, char>;

nlohmann::json decode_table(const amqp_table_t& table, const std::string& prefix, kinds& seen);

nlohmann::json decode_field(const amqp_field_value_t& field, const std::string& name, kinds& seen) {
  seen[name] = static_cast<char>(field.kind);
  const auto& value = field.value;
  switch (field.kind) {
    case AMQP_FIELD_KIND_BOOLEAN:
      return value.boolean != 0;
    case AMQP_FIELD_KIND_I8:
      return value.i8;
    case AMQP_FIELD_KIND_U8:
      return value.u8;
    case AMQP_FIELD_KIND_I16:
      return value.i16;
    case AMQP_FIELD_KIND_U16:
      return value.u16;
    case AMQP_FIELD_KIND_I32:
      return value.i32;
    case AMQP_FIELD_KIND_U32:
      return value.u32;
    case AMQP_FIELD_KIND_I64:
      return value.i64;
    case AMQP_FIELD_KIND_U64:
    case AMQP_FIELD_KIND_TIMESTAMP:
      return value.u64;
    case AMQP_FIELD_KIND_F32:
      return value.f32;
    case AMQP_FIELD_KIND_F64:
      return value.f64;
    case AMQP_FIELD_KIND_DECIMAL:
      return {{"decimals", value.decimal.decimals}, {"value", value.decimal.value}};
    case AMQP_FIELD_KIND_UTF8:
    case AMQP_FIELD_KIND_BYTES:
      return text(value.bytes);
    case AMQP_FIELD_KIND_TABLE:
      return decode_table(value.table, name + ".", seen);
    case AMQP_FIELD_KIND_VOID:
      return nullptr;
    case AMQP_FIELD_KIND_ARRAY:
      break;
    default:
      throw std::runtime_error{"header " + name + " has an AMQP type that is not known here"};
  }
  auto items = nlohmann::json::array();
  for (int i = 0; i < value.array.num_entries; ++i) {
    items.push_back(decode_field(value.array.entries[i], name + "." + std::to_string(i), seen));
  }
  return items;
}

nlohmann::json decode_table(const amqp_table_t& table, const std::string& prefix, kinds& seen) {
  auto object = nlohmann::json::object();
  for (int i = 0; i < table.num_entries; ++i) {
    const auto& entry = table.entries[i];
    const auto key = text(entry.key);
    object[key] = decode_field(entry.value, prefix + key, seen);
  }
  return object;
}

}  // namespace

properties decode(const amqp_basic_properties_t& source) {
  properties target;
  const auto copy = [&](amqp_flags_t flag, const auto& from, auto& to) {
    if ((source._flags & flag) == 0) return;
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(from)>, amqp_bytes_t>) {
      to = text(from);
    } else {
      to = from;
    }
  };
  copy(AMQP_BASIC_CONTENT_TYPE_FLAG, source.content_type, target.content_type);
  copy(AMQP_BASIC_CONTENT_ENCODING_FLAG, source.content_encoding, target.content_encoding);
  copy(AMQP_BASIC_CORRELATION_ID_FLAG, source.correlation_id, target.correlation_id);
  copy(AMQP_BASIC_REPLY_TO_FLAG, source.reply_to, target.reply_to);
  copy(AMQP_BASIC_EXPIRATION_FLAG, source.expiration, target.expiration);
  copy(AMQP_BASIC_MESSAGE_ID_FLAG, source.message_id, target.message_id);
  copy(AMQP_BASIC_TYPE_FLAG, source.type, target.type);
  copy(AMQP_BASIC_USER_ID_FLAG, source.user_id, target.user_id);
  copy(AMQP_BASIC_APP_ID_FLAG, source.app_id, target.app_id);
  copy(AMQP_BASIC_CLUSTER_ID_FLAG, source.cluster_id, target.cluster_id);
  copy(AMQP_BASIC_DELIVERY_MODE_FLAG, source.delivery_mode, target.delivery_mode);
  copy(AMQP_BASIC_PRIORITY_FLAG, source.priority, target.priority);
  copy(AMQP_BASIC_TIMESTAMP_FLAG, source.timestamp, target.timestamp);
  if ((source._flags & AMQP_BASIC_HEADERS_FLAG) != 0) {
    target.headers = decode_table(source.headers, "", target.header_kinds);
  }
  return target;
}

}  // namespace outboxd::test
