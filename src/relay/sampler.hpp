// sampler: samples the table periodically, on a session of its own, for metrics.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <functional>
#include <string>

#include "relay/database_session.hpp"
#include "relay/figures.hpp"
#include "relay/kept_session.hpp"

namespace outboxd::relay {

inline constexpr std::chrono::seconds sample_interval{15};

// Beside the stream, which a sample of up to 50 ms would keep from its events. Shared: its coroutine holds
// it.
class sampler {
 public:
  // Gets each sample, and each new refusal by PostgreSQL once.
  using teller = std::function<void(const result<table_sample>&)>;

  sampler(const boost::asio::any_io_executor& on, const postgres_settings& settings, teller tell);

  // Until stop().
  boost::asio::awaitable<void> run();
  void stop() { session_.stop(); }

 private:
  boost::asio::awaitable<result<void>> serve(pg::connection& link);

  const postgres_settings& settings_;
  teller tell_;
  kept_session session_;
  std::string said_;  // of the latest refusal
};

}  // namespace outboxd::relay
