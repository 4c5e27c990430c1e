#include "relay/token_renewal.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <random>
#include <utility>

#include "relay/read_secret.hpp"

namespace outboxd::relay {
namespace {

using namespace std::chrono_literals;
using std::chrono::system_clock;

constexpr backoff::duration first_pause = 1s;
constexpr backoff::duration longest_pause = 15s;  // short enough for several attempts in the last minute of a
                                                  // token

}  // namespace

token_renewal::token_renewal(const boost::asio::any_io_executor& on, secret from,
                             std::shared_ptr<amqp::connection> link, link_observer& observer)
    : from_(std::move(from)),
      link_(std::move(link)),
      observer_(&observer),
      timer_(on),
      backoff_(first_pause, longest_pause, std::random_device{}()) {}

boost::asio::awaitable<void> token_renewal::run(std::shared_ptr<token_renewal> self, wall_time end) {
  const auto now = [] { return std::chrono::floor<std::chrono::seconds>(system_clock::now()); };
  auto next_try = system_clock::time_point(renewal_of(now(), end));
  while (now() < end) {
    co_await self->wait_until(next_try);
    if (self->observer_ == nullptr) co_return;
    const auto next = co_await self->renew(end);
    if (self->observer_ == nullptr) co_return;
    if (next) {
      end = *next;
      self->backoff_.reset();
      next_try = renewal_of(now(), end);
    } else {
      self->observer_->on_token_not_renewed(end, next.error());
      next_try = system_clock::now() + self->backoff_.next();
    }
  }
}

boost::asio::awaitable<result<wall_time>> token_renewal::renew(wall_time end) {
  OUTBOXD_CO_TRY(const auto text, co_await read_secret(from_));
  OUTBOXD_CO_TRY(const auto target, amqp::parse_url(text));
  const auto next = end_of_token(target.password);
  if (!next) co_return transient("the new password is no JSON Web Token with the claim exp");
  // RabbitMQ would close the connection if the new token had expired.
  if (*next <= end)
    co_return transient(
        "the new token ends no later; let amqp.password_command ask for a new token each time");
  OUTBOXD_CO_TRY_VOID(link_->update_secret(target.password));
  co_return *next;
}

boost::asio::awaitable<void> token_renewal::wait_until(system_clock::time_point when) {
  if (observer_ == nullptr) co_return;
  timer_.expires_at(when);
  co_await timer_.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
}

void token_renewal::stop() {
  observer_ = nullptr;
  timer_.cancel();
}

}  // namespace outboxd::relay
