// Writes an invoice for each order, once, however often its event is delivered. libpq and librabbitmq.
//
//   g++ -std=c++20 consumer.cpp -I$(pg_config --includedir) -lpq -lrabbitmq -o consumer
//   DATABASE_URL=postgresql://... AMQP_URL=amqp://... ./consumer
#if __has_include(<rabbitmq-c/amqp.h>)  // librabbitmq 0.14 and newer
#include <rabbitmq-c/amqp.h>
#include <rabbitmq-c/tcp_socket.h>
#else
#include <amqp.h>
#include <amqp_tcp_socket.h>
#endif

#include <cstdio>
#include <cstdlib>

#include "database.hpp"

namespace {

const std::string name = "invoices.cpp";  // of the queue, and of the effect for first_time
constexpr amqp_channel_t channel = 1;

amqp_bytes_t bytes(const char* text) {
  return amqp_cstring_bytes(text);
}
std::string text(amqp_bytes_t from) {
  return {static_cast<const char*>(from.bytes), from.len};
}
void check(const amqp_rpc_reply_t& reply, const char* what) {
  if (reply.reply_type != AMQP_RESPONSE_NORMAL)
    throw std::runtime_error(std::string("RabbitMQ refused: ") + what);
}

amqp_connection_state_t connect(std::string url) {
  amqp_connection_info at{};
  if (amqp_parse_url(url.data(), &at) != AMQP_STATUS_OK) throw std::runtime_error("AMQP_URL is not a URL");
  amqp_connection_state_t to = amqp_new_connection();
  if (amqp_socket_open(amqp_tcp_socket_new(to), at.host, at.port) != AMQP_STATUS_OK)
    throw std::runtime_error("RabbitMQ does not answer");
  check(
      amqp_login(to, at.vhost, 0, AMQP_DEFAULT_FRAME_SIZE, 30, AMQP_SASL_METHOD_PLAIN, at.user, at.password),
      "login");
  amqp_channel_open(to, channel);
  amqp_exchange_declare(to, channel, bytes("outbox"), bytes("topic"), 0, 1, 0, 0, amqp_empty_table);
  amqp_queue_declare(to, channel, bytes(name.c_str()), 0, 1, 0, 0, amqp_empty_table);
  amqp_queue_bind(to, channel, bytes(name.c_str()), bytes("outbox"), bytes("order.created"),
                  amqp_empty_table);
  amqp_basic_qos(to, channel, 0, 50, 0);
  amqp_basic_consume(to, channel, bytes(name.c_str()), amqp_empty_bytes, 0, 0, 0, amqp_empty_table);
  check(amqp_get_rpc_reply(to), "the queue");
  return to;
}

void handle(database& in, const std::string& event_id, const std::string& order) {
  in.exec("BEGIN");
  const auto first = in.exec("SELECT outbox.first_time($1, $2)", {name, event_id});
  if (PQgetvalue(first.get(), 0, 0)[0] == 't')
    in.exec(
        "INSERT INTO shop.invoices (consumer, order_id, total)"
        " SELECT $1, (o ->> 'id')::bigint, (o ->> 'total')::numeric FROM (SELECT $2::text::jsonb AS o) AS x",
        {name, order});
  in.exec("COMMIT");  // the record of the event and its effect, or neither
}

}  // namespace

int main() try {
  database shop(std::getenv("DATABASE_URL"));
  const auto from = connect(std::getenv("AMQP_URL"));
  std::puts("waits for orders");
  std::fflush(stdout);
  for (;;) {
    amqp_maybe_release_buffers(from);
    amqp_envelope_t message;
    check(amqp_consume_message(from, &message, nullptr, 0), "to deliver");
    handle(shop, text(message.message.properties.message_id), text(message.message.body));
    amqp_basic_ack(from, channel, message.delivery_tag, 0);  // only now: what fails before comes again
    amqp_destroy_envelope(&message);
  }
} catch (const std::exception& failed) {
  std::fprintf(stderr, "%s\n", failed.what());
  return 1;
}
