// order_load: clients that commit orders, each with its event, as fast as they can.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "stage/stage.hpp"

namespace outboxd::bench {

struct load_result {
  std::int64_t commits = 0;
  double seconds = 0;
  std::vector<double> latencies_ms;  // for each transaction
};

// The time when all clients are connected.
inline constexpr std::chrono::milliseconds load_begins_after{500};

// The table of orders.
void create_orders(stage& on);

// Each transaction is BEGIN, an order, its event, COMMIT, in one round trip. Each order is a separate
// aggregate.
load_result load_orders(const stage& where, int clients, std::chrono::milliseconds duration);

}  // namespace outboxd::bench
