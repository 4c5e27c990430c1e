// broker: exchanges, queues, bindings and plain publishing, as a test or an operator would do them.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "support/broker_connection.hpp"
#include "support/database.hpp"

namespace outboxd::test {

enum class queue_type { classic, quorum, stream };

/// As x-queue-type has it.
const char* name_of(queue_type which);

/// One blocking AMQP session. Every call throws broker_error, with AMQP's code, and leaves the session usable
/// unless the connection itself is gone. Not for use by two threads at once.
class broker {
 public:
  explicit broker(const std::string& url = required_environment("OUTBOXD_AMQP_URL")) : connection_{url} {}

  /// Durable. `type`: topic, direct, fanout, headers. `arguments`: as of a queue.
  void declare_exchange(const std::string& name, const std::string& type = "topic",
                        const nlohmann::json& arguments = nlohmann::json::object());
  void delete_exchange(const std::string& name);

  /// Durable, neither exclusive nor deleted by itself. `arguments` is an object of booleans, integers and
  /// strings, such as {"x-max-length", 5}.
  void declare_queue(const std::string& name, queue_type type = queue_type::classic,
                     const nlohmann::json& arguments = nlohmann::json::object());
  /// Succeeds for a queue or exchange that does not exist, as RabbitMQ does.
  void delete_queue(const std::string& name);
  void bind(const std::string& queue, const std::string& exchange, const std::string& key);
  void unbind(const std::string& queue, const std::string& exchange, const std::string& key);

  /// Returns how many messages it threw away.
  std::uint32_t purge(const std::string& queue);
  /// Messages that wait for a consumer; those handed out and not yet acknowledged do not count.
  std::uint32_t message_count(const std::string& queue);
  /// A consumer that has gone is not counted any more once its unacknowledged deliveries are back in the
  /// queue.
  std::uint32_t consumer_count(const std::string& queue);
  bool queue_exists(const std::string& queue);

  /// Publishes without waiting for a confirm; headers as in `declare_queue`.
  void publish(const std::string& exchange, const std::string& key, const std::string& body,
               const std::string& message_id = "", const nlohmann::json& headers = nlohmann::json::object());

 private:
  broker_connection connection_;
};

}  // namespace outboxd::test
