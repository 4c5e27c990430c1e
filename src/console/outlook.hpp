// outlook: queries the outbox periodically and caches the result: there is only one query at a time, however
// many pages are open, and pages do not wait for it.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "console/desk.hpp"
#include "console/history.hpp"

namespace outboxd::console {

class outlook {
 public:
  // `from` and `asks` must outlive this object.
  outlook(const boost::asio::any_io_executor& on, const app::settings& from, desk& asks);

  // Runs until stop().
  boost::asio::awaitable<void> run();
  void stop();

  // The latest result, with the headline and the chart's figures from this Unix time on. After a time without
  // viewers, the first one waits briefly for a new query.
  boost::asio::awaitable<nlohmann::json> now(double figures_since);

  // The latest look with the headline, without waiting. Counts as a reader, so that looks become frequent.
  nlohmann::json glance();

 private:
  bool has_answer() const { return !status_.is_null() || error_.has_value(); }
  nlohmann::json without_answer() const;
  boost::asio::awaitable<void> look();
  void take(nlohmann::json seen);
  void failed(std::string why);
  double rate(const nlohmann::json& relays, const nlohmann::json& status);
  nlohmann::json current() const;

  const app::settings& from_;
  desk& desk_;
  boost::asio::steady_timer next_;
  boost::asio::steady_timer seen_;  // cancelled after each query
  bool stopped_ = false;
  std::chrono::steady_clock::time_point asked_{};  // time of the latest request
  std::chrono::milliseconds took_{0};
  nlohmann::json status_;  // null: no query has succeeded yet
  nlohmann::json relays_ = nlohmann::json::array();
  std::optional<std::string> error_;  // why PostgreSQL cannot be queried
  std::optional<std::chrono::system_clock::time_point> failing_since_;
  std::optional<std::chrono::system_clock::time_point> looking_since_;  // start of the running query
  double published_per_second_ = 0;
  history history_;
  // The relays' counts of published events at the previous query.
  struct counted {
    std::vector<std::string> urls;
    std::int64_t published;
    std::chrono::steady_clock::time_point at;
  };
  std::optional<counted> before_;
};

}  // namespace outboxd::console
