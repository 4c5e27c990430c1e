// invoice_desk: a consumer with an effect that must not happen twice: one invoice for every paid order.
#pragma once

#include <cstdint>
#include <thread>

#include "shop/options.hpp"
#include "shop/tally.hpp"
#include "support/consumer.hpp"
#include "support/database.hpp"

namespace outboxd::shop {

/// Creates the table of invoices. It does not prevent a second invoice for an order; the desk must do that.
void create_invoice_table(test::database& session);

/// Counts from the tables for the orders after `last_order_before`.
struct invoice_count {
  std::int64_t paid = 0;      // paid orders
  std::int64_t invoices = 0;  // their invoices
  std::int64_t missing = 0;   // paid orders without an invoice
  std::int64_t twice = 0;     // orders with more than one
};
invoice_count count_invoices(test::database& session, std::int64_t last_order_before);

/// Writes invoices on its own thread from construction until finish() or destruction. Errors are reported to
/// the tally. After the commit, it requeues some deliveries, as if it had crashed before the acknowledgement.
class invoice_desk {
 public:
  invoice_desk(const options& settings, tally& result);

  void finish();
  /// The number of deliveries whose invoice already existed. Call it after finish().
  std::int64_t seen_before() const { return seen_before_; }

 private:
  void run(const std::stop_token& stop);
  void receive(const test::delivery& message);

  test::database session_;
  test::consumer consumer_;
  tally& tally_;
  std::int64_t received_ = 0;
  std::int64_t seen_before_ = 0;
  std::jthread thread_;  // last, because it uses the other members
};

}  // namespace outboxd::shop
