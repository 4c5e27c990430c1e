// shared_answer: caches the result of an expensive query for all pages: only one query runs at a time, and
// its result is shared for a while.
#pragma once

#include <algorithm>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <optional>

#include "console/desk.hpp"

namespace outboxd::console {

class shared_answer {
 public:
  using clock = std::chrono::steady_clock;
  using asking = std::function<boost::asio::awaitable<desk::answer>()>;

  // `least`: how long a result is kept at least.
  explicit shared_answer(const boost::asio::any_io_executor& on,
                         std::chrono::milliseconds least = std::chrono::seconds(4));

  // `ask` must live until its result has arrived.
  boost::asio::awaitable<desk::answer> get(const asking& ask);

  // How long a result is kept if its query took this long: the query may use up to a hundredth of the time,
  // but a result is kept for at most half a minute, or for `least` if that is longer.
  static std::chrono::milliseconds lasts(std::chrono::milliseconds took, std::chrono::milliseconds least) {
    using namespace std::chrono_literals;
    return std::clamp<std::chrono::milliseconds>(took * 100, least,
                                                 std::max<std::chrono::milliseconds>(30s, least));
  }

 private:
  const std::chrono::milliseconds least_;
  boost::asio::steady_timer arrived_;
  std::optional<desk::answer> kept_;
  clock::time_point until_{};
  bool asking_ = false;
};

}  // namespace outboxd::console
