// shared_answer: an answer that costs the database something, for however many pages ask: one question at
// a time, whose answer is everybody's for a while.
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

  // `least`: how long an answer is kept at least.
  explicit shared_answer(const boost::asio::any_io_executor& on,
                         std::chrono::milliseconds least = std::chrono::seconds(4));

  // `ask` is to live until it is answered.
  boost::asio::awaitable<desk::answer> get(const asking& ask);

  // For how long an answer is kept that took so long: the question takes up to a hundredth of the time,
  // unless that would make it older than half a minute, or than it is kept at least.
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
