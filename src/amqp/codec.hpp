// codec: encodes and decodes AMQP methods with rabbitmq-c's codec; no socket.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "amqp/rabbitmq.hpp"
#include "core/error.hpp"

namespace outboxd::amqp {

// Converts a view to rabbitmq-c's type. Nothing is copied, and rabbitmq-c does not write through the pointer.
inline amqp_bytes_t as_bytes(std::string_view text) {
  return {text.size(), const_cast<char*>(text.data())};
}
inline std::string_view as_view(amqp_bytes_t bytes) {
  return {static_cast<const char*>(bytes.bytes), bytes.len};
}

// The memory for decoded fields and tables, which are valid until recycle().
class pool {
 public:
  pool() { init_amqp_pool(&pool_, 4096); }
  ~pool() { empty_amqp_pool(&pool_); }
  pool(const pool&) = delete;
  pool& operator=(const pool&) = delete;
  void recycle() { recycle_amqp_pool(&pool_); }
  void release() { empty_amqp_pool(&pool_), init_amqp_pool(&pool_, 4096); }
  amqp_pool_t* get() { return &pool_; }

 private:
  amqp_pool_t pool_{};
};

// Returns the form in which errors name a method without a known name, such as "10.40" for connection.open.
std::string method_number(amqp_method_number_t id);

// connection.update-secret-ok: an extension of RabbitMQ without fields, known to rabbitmq-c since 0.12.
inline constexpr amqp_method_number_t update_secret_ok_method = 10U << 16U | 71U;

struct method {
  amqp_method_number_t id = 0;
  void* fields = nullptr;
  // Fields must be the struct of amqp_framing.h that belongs to `id`.
  template <class Fields>
  const Fields& as() const {
    return *static_cast<const Fields*>(fields);
  }
};

class codec {
 public:
  // Appends one method frame. `fields` is the struct that belongs to `id`. Fails (permanent, nothing is
  // appended) if the frame is larger than frame_max_untuned or a short string is longer than 255 bytes.
  static result<void> append_method(std::string& out, std::uint16_t channel, amqp_method_number_t id,
                                    const void* fields);

  // Appends connection.update-secret. Fails like append_method.
  static result<void> append_update_secret(std::string& out, std::string_view secret);

  // Decodes the payload of a method frame. Accepts only methods that a broker may send to a publisher. The
  // fields point into `payload` and this codec: they are valid until the next decode, or as long as the
  // payload.
  result<method> decode(std::string_view payload);

 private:
  pool pool_;
};

// The content header of a returned message (section 4.2.6.1); the views point into the payload.
struct content_header {
  std::uint64_t body_size = 0;
  std::string_view message_id;
};

// Skips all other fields, including the headers table, which rabbitmq-c would decode recursively without a
// depth limit.
result<content_header> decode_content_header(std::string_view payload);

}  // namespace outboxd::amqp
