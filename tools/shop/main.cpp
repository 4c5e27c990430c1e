// main: outboxd_shop, which generates the demo's load and checks the result.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <fstream>
#include <map>

#include "shop/shop.hpp"

namespace {

namespace shop = outboxd::shop;

void declare(CLI::App& app, shop::options& settings, std::uint32_t& seconds) {
  app.add_option("--rate", settings.rate, "New orders per second")
      ->check(CLI::Range(0.1, 100000.0))
      ->capture_default_str();
  app.add_option("--seconds", seconds, "How long to take orders")
      ->check(CLI::Range(1U, 86400U))
      ->capture_default_str();
  app.add_option("--writers", settings.writers, "Sessions that take orders")
      ->check(CLI::Range(1U, 100U))
      ->capture_default_str();
  app.add_option("--rollback-share", settings.rollback_share,
                 "Share of transactions rolled back after their event was emitted")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  app.add_option("--queue", settings.queue, "Deleted and declared anew")->capture_default_str();
  app.add_option("--queue-type", settings.queue_type, "classic or quorum")
      ->transform(CLI::CheckedTransformer(std::map<std::string, outboxd::test::queue_type>{
          {"classic", outboxd::test::queue_type::classic}, {"quorum", outboxd::test::queue_type::quorum}}))
      ->default_str("classic");
  app.add_flag("--keep-queue", settings.keep_queue, "Leave the queue, bound, at the end");
  app.add_option("--json", settings.json_file, "Write the summary to this file, too");
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{
      "Takes orders into PostgreSQL, each with its outbox event, consumes the events from RabbitMQ, and "
      "compares.\n"
      "The addresses come from OUTBOXD_DATABASE_URL and OUTBOXD_AMQP_URL.",
      "outboxd_shop"};
  shop::options settings;
  std::uint32_t seconds = 20;
  declare(app, settings, seconds);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  try {
    settings.duration = std::chrono::seconds{seconds};
    settings.database_url = outboxd::test::required_environment("OUTBOXD_DATABASE_URL");
    settings.amqp_url = outboxd::test::required_environment("OUTBOXD_AMQP_URL");
    const auto result = shop::run(settings);
    fmt::print("{}", shop::words(result));
    if (!settings.json_file.empty()) {
      std::ofstream file{settings.json_file};
      file << shop::as_json(result, settings).dump(2) << '\n';
      if (!file.flush()) throw std::runtime_error{"cannot write " + settings.json_file};
    }
    return result.good() ? 0 : 1;
  } catch (const std::exception& error) {
    std::fflush(stdout);
    fmt::print(stderr, "outboxd_shop: {}\n", error.what());
    return 1;
  }
}
