// order_writer: the transactions.
#include "shop/order_writer.hpp"

#include <thread>

namespace outboxd::shop {
namespace {

constexpr std::uint64_t max_customer = 5000;
constexpr std::uint64_t max_cents = 30000;

/// The next state of an order, which is also the name of the event.
std::optional<std::string> state_after(const std::string& state) {
  if (state == "created") return "paid";
  if (state == "paid") return "shipped";
  return std::nullopt;
}

}  // namespace

void create_orders_table(test::database& session) {
  session.exec(R"(
    CREATE SCHEMA IF NOT EXISTS shop;
    CREATE TABLE IF NOT EXISTS shop.orders (
      id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      customer    text NOT NULL,
      total_cents integer NOT NULL,
      state       text NOT NULL DEFAULT 'created'))");
}

order_writer::order_writer(const options& settings, unsigned index, order_book& book, tally& result)
    : settings_{settings},
      index_{index},
      book_{book},
      tally_{result},
      session_{settings.database_url},
      random_{std::random_device{}()} {}

void order_writer::run(steady_clock::time_point start, steady_clock::time_point end,
                       const std::stop_token& stop) {
  const std::chrono::duration<double> apart{settings_.writers / settings_.rate};
  const auto turn = apart * index_ / settings_.writers;
  for (double count = 0; !stop.stop_requested(); ++count) {
    const auto due = start + std::chrono::duration_cast<steady_clock::duration>(turn + apart * count);
    // A writer that has fallen behind catches up without pauses, and the shop still closes in time.
    if (due >= end || steady_clock::now() >= end) return;
    std::this_thread::sleep_until(due);
    place_order(chance(settings_.rollback_share));
    if (chance(settings_.follow_up_share)) advance_order(chance(settings_.rollback_share));
  }
}

void order_writer::place_order(bool roll_back) {
  std::string order;
  const bool committed = transact(roll_back, [&] {
    order = session_.value(
        "INSERT INTO shop.orders (customer, total_cents) VALUES ($1, $2) RETURNING id",
        {"customer-" + std::to_string(random_() % max_customer), std::to_string(random_() % max_cents + 1)});
    return emit(order, "order.created");
  });
  if (committed) book_.add(std::stoll(order));
}

void order_writer::advance_order(bool roll_back) {
  const auto picked = book_.pick(random_());
  if (!picked) return;
  const auto order = std::to_string(*picked);
  bool finished = false;
  const bool committed = transact(roll_back, [&]() -> std::optional<std::string> {
    // The lock on the order defines the order of its events: while it is held, no other transaction can
    // assign a seq for the order.
    const auto state = session_.value("SELECT state FROM shop.orders WHERE id = $1 FOR UPDATE", {order});
    const auto next = state_after(state);
    if (!next) return std::nullopt;
    finished = *next == "shipped";
    session_.exec("UPDATE shop.orders SET state = $2 WHERE id = $1", {order, *next});
    return emit(order, "order." + *next);
  });
  if (committed && finished) book_.remove(*picked);
}

std::string order_writer::emit(const std::string& order, const std::string& event_type) {
  return session_.value(
      "SELECT outbox.emit('order', id::text, $2, jsonb_build_object("
      "'order_id', id, 'customer', customer, 'total_cents', total_cents, 'state', state))"
      " FROM shop.orders WHERE id = $1",
      {order, event_type});
}

bool order_writer::transact(bool roll_back, const std::function<std::optional<std::string>()>& work) {
  session_.exec("BEGIN");
  const auto event = work();
  if (!event || roll_back) {
    session_.exec("ROLLBACK");
    if (event) tally_.rolled_back();
    return false;
  }
  const auto sent = steady_clock::now();
  session_.exec("COMMIT");
  tally_.committed(*event, sent);
  return true;
}

}  // namespace outboxd::shop
