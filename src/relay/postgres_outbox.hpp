// postgres_outbox: a lane's session with the outbox in PostgreSQL, reconnected for ever.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <optional>
#include <vector>

#include "pg/connection.hpp"
#include "pg/schema_name.hpp"
#include "relay/link_observer.hpp"
#include "relay/outbox.hpp"
#include "relay/reconnect_pause.hpp"
#include "relay/secret.hpp"

namespace outboxd::relay {

struct postgres_settings {
  secret url;
  pg::schema_name schema;
  std::chrono::milliseconds connect_timeout{10'000};
  std::chrono::milliseconds claim_timeout{30'000};
  int batch = 500;
  std::int64_t batch_bytes = 8'000'000;
  int shards_per_claim = 16;
};

class postgres_outbox final : public outbox {
 public:
  postgres_outbox(const boost::asio::any_io_executor& on, const postgres_settings& settings,
                  link_observer& observer);

  // Connects, serves, reconnects, until stop().
  boost::asio::awaitable<void> run(outbox_listener& listener);
  void stop();

  void claim() override;
  void settle(const settlement& what, then next) override;

 private:
  struct request {
    pg::pipeline steps;
    bool settles = false;                 // writes what became of a batch
    std::optional<std::size_t> claim_at;  // index of the claim's rows among the answers
  };

  boost::asio::awaitable<result<void>> open(pg::connection& link);
  static void add_trial(pg::pipeline& to);
  boost::asio::awaitable<error> serve(pg::connection& link, outbox_listener& listener);
  void ask(request what);
  std::size_t add_claim(pg::pipeline& to) const;

  boost::asio::any_io_executor executor_;
  const postgres_settings& settings_;
  link_observer& observer_;
  reconnect_pause pause_;
  pg::connection* current_ = nullptr;
  std::optional<request> asked_;
  bool stopping_ = false;
};

}  // namespace outboxd::relay
