// sampler: samples the table periodically for metrics, on a session of its own.
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

// Uses a separate session, because a sample may take 50 ms, in which the stream could not read events. The
// object is shared, because its coroutine keeps a reference to it.
class sampler {
 public:
  // Receives each sample, and each new error from PostgreSQL once.
  using teller = std::function<void(const result<table_sample>&)>;

  sampler(const boost::asio::any_io_executor& on, const postgres_settings& settings, teller tell);

  // Runs until stop().
  boost::asio::awaitable<void> run();
  void stop() { session_.stop(); }

 private:
  boost::asio::awaitable<result<void>> serve(pg::connection& link);

  const postgres_settings& settings_;
  teller tell_;
  kept_session session_;
  std::string said_;  // the last reported error
};

}  // namespace outboxd::relay
