#include "relay/reconnect_pause.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <random>

namespace outboxd::relay {
namespace {

using namespace std::chrono_literals;

constexpr backoff::duration base = 100ms;  // short, because a restart of a server takes about a second

}  // namespace

reconnect_pause::reconnect_pause(const boost::asio::any_io_executor& on)
    : timer_(on), backoff_(base, longest, std::random_device{}()) {}

boost::asio::awaitable<void> reconnect_pause::wait(fault why) {
  if (stopped_) co_return;
  const auto next = backoff_.next();
  timer_.expires_after(why == fault::permanent ? longest : next);
  co_await timer_.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
}

void reconnect_pause::stop() {
  stopped_ = true;
  timer_.cancel();
}

}  // namespace outboxd::relay
