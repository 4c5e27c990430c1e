// invoice_desk: the consumer's transaction.
#include "shop/invoice_desk.hpp"

#include <exception>

namespace outboxd::shop {
namespace {

constexpr std::uint16_t invoice_prefetch = 50;
constexpr std::int64_t hand_back_every = 10;
constexpr std::chrono::milliseconds invoice_wait{50};

}  // namespace

void create_invoice_table(test::database& session) {
  session.exec(R"(
    CREATE TABLE IF NOT EXISTS shop.invoice (
      id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      order_id    bigint NOT NULL,
      total_cents integer NOT NULL))");
}

invoice_count count_invoices(test::database& session, std::int64_t last_order_before) {
  const auto row =
      session
          .exec(
              "SELECT count(*), coalesce(sum(i.written), 0), count(*) FILTER (WHERE i.written IS NULL),"
              " count(*) FILTER (WHERE i.written > 1)"
              " FROM shop.orders AS o LEFT JOIN (SELECT order_id, count(*) AS written FROM shop.invoice"
              " GROUP BY order_id) AS i ON i.order_id = o.id"
              " WHERE o.id > $1::bigint AND o.state <> 'created'",
              {std::to_string(last_order_before)})
          .at(0);
  return {std::stoll(*row[0]), std::stoll(*row[1]), std::stoll(*row[2]), std::stoll(*row[3])};
}

invoice_desk::invoice_desk(const options& settings, tally& result)
    : session_{settings.database_url},
      consumer_{settings.invoice_queue, invoice_prefetch, settings.amqp_url},
      tally_{result},
      thread_{[this](const std::stop_token& stop) { run(stop); }} {}

void invoice_desk::run(const std::stop_token& stop) {
  try {
    while (!stop.stop_requested())
      if (const auto message = consumer_.next(invoice_wait)) receive(*message);
  } catch (const std::exception& error) {
    tally_.fail(std::string{"The invoice desk cannot go on: "} + error.what());
  }
}

// Records the event and its effect in one transaction, so that neither exists without the other, even if this
// program is killed.
void invoice_desk::receive(const test::delivery& message) {
  session_.exec("BEGIN");
  const bool first =
      session_.value("SELECT outbox.first_time('shop.invoice', $1::uuid)", {message.message_id()}) == "t";
  if (first) {
    session_.exec(
        "INSERT INTO shop.invoice (order_id, total_cents)"
        " SELECT (e->>'order_id')::bigint, (e->>'total_cents')::integer FROM CAST($1 AS jsonb) AS e",
        {message.body});
  } else {
    ++seen_before_;
  }
  session_.exec("COMMIT");
  if (!message.redelivered && ++received_ % hand_back_every == 0) {
    consumer_.nack(message.tag, /*requeue=*/true);
  } else {
    consumer_.ack(message);
  }
}

void invoice_desk::finish() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

}  // namespace outboxd::shop
