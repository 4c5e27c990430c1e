// shop: one opening of the shop, from the first order to the last delivery.
#pragma once

#include "shop/options.hpp"
#include "shop/summary.hpp"

namespace outboxd::shop {

/// Opens the shop, writes and consumes for as long as told, waits for what is still on its way, and returns
/// what came of it. Throws when PostgreSQL or RabbitMQ cannot be used at all.
summary run(const options& settings);

}  // namespace outboxd::shop
