// broker: topology calls over rabbitmq-c.
#include "support/broker.hpp"

#include <vector>

#include "amqp/rabbitmq.hpp"

namespace outboxd::test {
namespace {

/// An AMQP table whose strings belong to the JSON object that it was made from.
class argument_table {
 public:
  explicit argument_table(const nlohmann::json& object) {
    for (const auto& [name, value] : object.items()) {
      amqp_table_entry_t entry{};
      keys_.push_back(std::make_unique<std::string>(name));
      entry.key = bytes(*keys_.back());
      if (value.is_boolean()) {
        entry.value.kind = AMQP_FIELD_KIND_BOOLEAN;
        entry.value.value.boolean = value.get<bool>() ? 1 : 0;
      } else if (value.is_number_integer()) {
        entry.value.kind = AMQP_FIELD_KIND_I64;
        entry.value.value.i64 = value.get<std::int64_t>();
      } else {
        entry.value.kind = AMQP_FIELD_KIND_UTF8;
        entry.value.value.bytes = bytes(value.get_ref<const std::string&>());
      }
      entries_.push_back(entry);
    }
  }
  amqp_table_t table() { return {static_cast<int>(entries_.size()), entries_.data()}; }

 private:
  std::vector<std::unique_ptr<std::string>> keys_;
  std::vector<amqp_table_entry_t> entries_;
};

constexpr amqp_boolean_t durable = 1;
constexpr amqp_boolean_t no = 0;

}  // namespace

void broker::declare_exchange(const std::string& name, const std::string& type,
                              const nlohmann::json& arguments) {
  argument_table table{arguments};
  amqp_exchange_declare(connection_.state(), connection_.channel(), bytes(name), bytes(type), no, durable, no,
                        no, table.table());
  connection_.check("declaring exchange " + name);
}

void broker::delete_exchange(const std::string& name) {
  amqp_exchange_delete(connection_.state(), connection_.channel(), bytes(name), no);
  connection_.check("deleting exchange " + name);
}

const char* name_of(queue_type which) {
  switch (which) {
    case queue_type::classic:
      return "classic";
    case queue_type::quorum:
      return "quorum";
    case queue_type::stream:
      return "stream";
  }
  return "";
}

void broker::declare_queue(const std::string& name, queue_type type, const nlohmann::json& arguments) {
  auto all = arguments;
  all["x-queue-type"] = name_of(type);
  argument_table table{all};
  amqp_queue_declare(connection_.state(), connection_.channel(), bytes(name), no, durable, no, no,
                     table.table());
  connection_.check("declaring queue " + name);
}

void broker::delete_queue(const std::string& name) {
  amqp_queue_delete(connection_.state(), connection_.channel(), bytes(name), no, no);
  connection_.check("deleting queue " + name);
}

void broker::bind(const std::string& queue, const std::string& exchange, const std::string& key) {
  amqp_queue_bind(connection_.state(), connection_.channel(), bytes(queue), bytes(exchange), bytes(key),
                  amqp_empty_table);
  connection_.check("binding queue " + queue + " to exchange " + exchange);
}

void broker::unbind(const std::string& queue, const std::string& exchange, const std::string& key) {
  amqp_queue_unbind(connection_.state(), connection_.channel(), bytes(queue), bytes(exchange), bytes(key),
                    amqp_empty_table);
  connection_.check("unbinding queue " + queue + " from exchange " + exchange);
}

std::uint32_t broker::purge(const std::string& queue) {
  const auto* ok = amqp_queue_purge(connection_.state(), connection_.channel(), bytes(queue));
  connection_.check("purging queue " + queue);
  return ok->message_count;
}

std::uint32_t broker::message_count(const std::string& queue) {
  const auto* ok = amqp_queue_declare(connection_.state(), connection_.channel(), bytes(queue), /*passive=*/1,
                                      durable, no, no, amqp_empty_table);
  connection_.check("looking at queue " + queue);
  return ok->message_count;
}

std::uint32_t broker::consumer_count(const std::string& queue) {
  const auto* ok = amqp_queue_declare(connection_.state(), connection_.channel(), bytes(queue), /*passive=*/1,
                                      durable, no, no, amqp_empty_table);
  connection_.check("looking at queue " + queue);
  return ok->consumer_count;
}

bool broker::queue_exists(const std::string& queue) {
  try {
    message_count(queue);
    return true;
  } catch (const broker_error& error) {
    if (error.code == AMQP_NOT_FOUND) return false;
    throw;
  }
}

void broker::publish(const std::string& exchange, const std::string& key, const std::string& body,
                     const std::string& message_id, const nlohmann::json& headers) {
  argument_table table{headers};
  amqp_basic_properties_t properties{};
  properties._flags = AMQP_BASIC_MESSAGE_ID_FLAG | AMQP_BASIC_HEADERS_FLAG | AMQP_BASIC_DELIVERY_MODE_FLAG;
  properties.message_id = bytes(message_id);
  properties.headers = table.table();
  properties.delivery_mode = 2;
  const int status = amqp_basic_publish(connection_.state(), connection_.channel(), bytes(exchange),
                                        bytes(key), no, no, &properties, bytes(body));
  if (status != AMQP_STATUS_OK) throw broker_error{amqp_error_string2(status), 0};
}

}  // namespace outboxd::test
