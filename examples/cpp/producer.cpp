// Takes orders: each one and its event are written in one transaction. libpq.
//
//   g++ -std=c++20 producer.cpp -I$(pg_config --includedir) -lpq -o producer
//   DATABASE_URL=postgresql://... ./producer 10
#include <cstdio>
#include <cstdlib>

#include "database.hpp"

namespace {

// A failure leaves the transaction open; it is rolled back with its session.
std::string take_order(database& in, int total) {
  in.exec("BEGIN");
  const auto order = in.exec("INSERT INTO shop.orders (total) VALUES ($1::text::numeric) RETURNING id",
                             {std::to_string(total)});
  const std::string id = PQgetvalue(order.get(), 0, 0);
  in.exec(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload)"
      " VALUES ('order', $1, 'order.created', $2)",
      {id, "{\"id\": " + id + ", \"total\": \"" + std::to_string(total) + "\"}"});
  in.exec("COMMIT");  // both, or neither
  return id;
}

}  // namespace

int main(int count, char** arguments) try {
  database shop(std::getenv("DATABASE_URL"));
  const int orders = count > 1 ? std::atoi(arguments[1]) : 1;
  for (int i = 0; i < orders; ++i) std::printf("took order %s\n", take_order(shop, 10 + i).c_str());
} catch (const std::exception& failed) {
  std::fprintf(stderr, "%s\n", failed.what());
  return 1;
}
