// shop: the run, step by step.
#include "shop/shop.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <thread>
#include <vector>

#include "shop/invoice_desk.hpp"
#include "shop/order_consumer.hpp"
#include "shop/order_writer.hpp"
#include "shop/progress.hpp"
#include "shop/tally.hpp"
#include "support/eventually.hpp"

namespace outboxd::shop {
namespace {

constexpr std::chrono::seconds relay_start_limit{30};
constexpr std::chrono::seconds settle_limit{15};

void open_queues(test::broker& broker, const options& settings) {
  broker.delete_queue(settings.queue);  // of an earlier run
  broker.declare_exchange(settings.exchange);
  broker.declare_queue(settings.queue, settings.queue_type);
  broker.bind(settings.queue, settings.exchange, "order.*");
  broker.delete_queue(settings.invoice_queue);
  broker.declare_queue(settings.invoice_queue, settings.queue_type);
  broker.bind(settings.invoice_queue, settings.exchange, "order.paid");
}

/// Writes one order before the measurement begins, which proves that the relay works and excludes its start
/// from the latencies.
bool first_order_arrives(const options& settings, order_book& book, tally& result) {
  order_writer{settings, 0, book, result}.place_order();
  const bool arrived = result.wait_complete(steady_clock::now() + relay_start_limit) && !result.failure();
  if (!arrived) {
    result.fail(
        fmt::format("The first event did not arrive within {} s: is the relay running, and does its log "
                    "say what keeps it?",
                    relay_start_limit.count()));
  } else if (const auto now = result.count(); now.latency) {
    fmt::print("The first event has arrived, {:.1f} ms after its COMMIT was sent.\n",
               now.latency->max.count());
    std::fflush(stdout);
  }
  result.forget_latencies();
  return arrived;
}

std::vector<std::jthread> open_writers(const options& settings, steady_clock::time_point start,
                                       order_book& book, tally& result) {
  result.expect_writers(settings.writers);
  std::vector<std::jthread> threads;
  for (unsigned index = 0; index < settings.writers; ++index) {
    threads.emplace_back([&settings, &book, &result, start, index](const std::stop_token& stop) {
      try {
        order_writer{settings, index, book, result}.run(start, start + settings.duration, stop);
      } catch (const std::exception& error) {
        result.fail(std::string{"A writer cannot go on: "} + error.what());
      }
      result.writer_finished();
    });
  }
  return threads;
}

/// Waits until everything has arrived, something has failed, or `arrival_limit` has passed since the last
/// commit.
void watch(const options& settings, steady_clock::time_point start, tally& result) {
  progress line;
  auto next = start + std::chrono::seconds{1};
  while (!result.wait_complete(next)) {
    line.show(steady_clock::now() - start, result.count());
    next += std::chrono::seconds{1};
    if (!result.writing() && steady_clock::now() > *result.last_commit() + settings.arrival_limit) return;
  }
}

/// Once the relay has marked everything and the queues are empty, no more copies can arrive.
void settle(test::broker& broker, const options& settings, std::int64_t last_order_before, tally& result) {
  try {
    test::database session{settings.database_url};
    test::eventually(
        "all events published or dead, by the outbox table",
        [&] {
          return session.number("SELECT count(*) FROM outbox.event WHERE status IN ('pending', 'waiting')") ==
                 0;
        },
        settle_limit);
    test::eventually(
        "the queues are empty",
        [&] {
          return broker.message_count(settings.queue) + broker.message_count(settings.invoice_queue) == 0;
        },
        settle_limit);
    test::eventually(
        "every paid order has its invoice",
        [&] { return count_invoices(session, last_order_before).missing == 0; }, settle_limit);
  } catch (const std::exception& error) {
    result.fail(std::string{"The relay or the broker does not come to rest: "} + error.what());
  }
}

}  // namespace

summary run(const options& settings) {
  test::broker broker{settings.amqp_url};
  test::database session{settings.database_url};
  create_orders_table(session);
  create_invoice_table(session);
  const auto last_order_before = session.number("SELECT coalesce(max(id), 0) FROM shop.orders");
  open_queues(broker, settings);

  tally result;
  order_book book;
  order_consumer consumer{settings, result};
  invoice_desk invoices{settings, result};
  std::chrono::duration<double> wrote_for{0};
  if (first_order_arrives(settings, book, result)) {
    const auto start = steady_clock::now();
    auto writers = open_writers(settings, start, book, result);
    watch(settings, start, result);
    for (auto& writer : writers) writer.request_stop();
    writers.clear();  // joins
    wrote_for = result.last_commit().value_or(start) - start;
    if (!result.failure() && result.count().missing == 0) settle(broker, settings, last_order_before, result);
  }
  consumer.finish();
  invoices.finish();
  if (!settings.keep_queue) broker.delete_queue(settings.queue);
  broker.delete_queue(settings.invoice_queue);
  return summarize(result, {count_invoices(session, last_order_before), invoices.seen_before()}, settings,
                   wrote_for);
}

}  // namespace outboxd::shop
