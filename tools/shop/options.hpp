// options: the shop's settings from the command line and the environment.
#pragma once

#include <chrono>
#include <string>

#include "support/broker.hpp"

namespace outboxd::shop {

struct options {
  std::string database_url;
  std::string amqp_url;
  double rate = 400;  // new orders per second, total of all writers
  std::chrono::seconds duration{20};
  unsigned writers = 4;
  double follow_up_share = 0.6;  // probability that an order is followed by a step of an older order
  double rollback_share = 0.05;  // share of transactions rolled back after emitting their event
  std::string exchange = "outbox";
  std::string queue = "shop.orders";
  std::string invoice_queue = "shop.invoices";  // deleted at the end
  test::queue_type queue_type = test::queue_type::classic;
  bool keep_queue = false;
  std::chrono::seconds arrival_limit{30};  // after the last commit
  std::string json_file;                   // empty: none
};

}  // namespace outboxd::shop
