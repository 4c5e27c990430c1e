// shop: one run of the shop, from the first order to the last delivery.
#pragma once

#include "shop/options.hpp"
#include "shop/summary.hpp"

namespace outboxd::shop {

/// Opens the shop, writes and consumes for the configured time, waits for outstanding deliveries, and returns
/// the result. Throws if PostgreSQL or RabbitMQ cannot be used at all.
summary run(const options& settings);

}  // namespace outboxd::shop
