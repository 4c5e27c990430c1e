// order_writer: takes orders at a steady rate, each with its event in the same transaction.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <stop_token>
#include <string>

#include "shop/options.hpp"
#include "shop/order_book.hpp"
#include "shop/tally.hpp"
#include "support/database.hpp"

namespace outboxd::shop {

/// Creates the shop's own table. Throws test::database_error.
void create_orders_table(test::database& session);

/// A writer with its own session, for one thread. Some of its transactions are rolled back after emitting
/// their event, which must never be delivered.
class order_writer {
 public:
  /// `index` identifies the writer; the writers take turns.
  order_writer(const options& settings, unsigned index, order_book& book, tally& result);

  /// Writes until `end`. Throws test::database_error if the database rejects a statement.
  void run(steady_clock::time_point start, steady_clock::time_point end, const std::stop_token& stop);

  /// Writes a new order, which is never rolled back.
  void place_order() { place_order(/*roll_back=*/false); }

 private:
  void place_order(bool roll_back);
  void advance_order(bool roll_back);
  /// Runs `work`, which returns the event's id, in a transaction. Returns whether it was committed.
  bool transact(bool roll_back, const std::function<std::optional<std::string>()>& work);
  std::string emit(const std::string& order, const std::string& event_type);
  bool chance(double share) { return std::bernoulli_distribution{share}(random_); }

  const options& settings_;
  unsigned index_;
  order_book& book_;
  tally& tally_;
  test::database session_;
  std::mt19937_64 random_;
};

}  // namespace outboxd::shop
