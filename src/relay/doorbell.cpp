#include "relay/doorbell.hpp"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace outboxd::relay {
namespace {

using clock = std::chrono::steady_clock;

}  // namespace

doorbell::doorbell(const boost::asio::any_io_executor& on, const postgres_settings& settings,
                   std::chrono::milliseconds sweep_interval, link_observer& observer,
                   std::function<void()> ring)
    : executor_(on),
      settings_(settings),
      interval_(sweep_interval),
      observer_(observer),
      ring_(std::move(ring)),
      listener_(on, settings, observer),
      sweeper_(settings, sweep_interval),
      pause_(on),
      timer_(on) {}

boost::asio::awaitable<void> doorbell::run() {
  while (!stopping_) {
    pg::connection link(executor_);
    current_ = &link;
    const auto opened = co_await open(link);
    if (opened) {
      observer_.on_link_up(peer::database);
      serving_ = true;
      const error why = co_await serve(link);
      serving_ = false;
      listener_.end();
      observer_.on_link_down(peer::database, why);
    } else {
      observer_.on_link_refused(peer::database, opened.error());
    }
    current_ = nullptr;
    if (!stopping_) co_await pause_.wait();
  }
}

boost::asio::awaitable<void> doorbell::run_without_session() {
  while (!stopping_) {
    timer_.expires_after(interval_);
    co_await timer_.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
    if (!stopping_ && !serving_) ring_();
  }
}

boost::asio::awaitable<result<void>> doorbell::open(pg::connection& link) {
  const auto opened = co_await open_session(link, settings_);
  if (!opened) co_return tl::make_unexpected(opened.error());
  kind_ = moved_ ? session_kind::pooled : *opened;
  const auto begun = co_await sweeper_.begin(link, kind_);
  if (!begun) co_return begun;
  co_return co_await listener_.begin(link, kind_);
}

boost::asio::awaitable<error> doorbell::serve(pg::connection& link) {
  auto next_sweep = clock::now();
  for (;;) {
    if (stopping_) co_return error{};
    if (link.lost()) co_return *link.lost();
    const auto rung = co_await listener_.attend(link, next_sweep);
    if (!rung) co_return rung.error();
    if (*rung) ring_();
    if (clock::now() >= next_sweep) {
      auto probe = listener_.take_probe();
      const auto found = co_await sweeper_.sweep(link, std::move(probe));
      if (!found) co_return found.error();
      if (found->work) ring_();
      if (found->moved && kind_ == session_kind::own) {
        moved_ = true;
        co_return error{
            fault::transient,
            "a connection pooler changes the session between transactions; going on without LISTEN and "
            "prepared statements"};
      }
      pause_.reset();
      next_sweep = clock::now() + found->next;
      continue;  // a probe that went with it has come back with it
    }
    co_await link.wait_until(std::min(next_sweep, listener_.next(next_sweep)));
  }
}

void doorbell::stop() {
  stopping_ = true;
  pause_.stop();
  timer_.cancel();
  listener_.stop();
  if (current_ != nullptr) current_->close();
}

}  // namespace outboxd::relay
