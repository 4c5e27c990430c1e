#include "pg/connection.hpp"

#include <fmt/format.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "pg/connection_string.hpp"
#include "pg/session.hpp"

namespace outboxd::pg {
namespace {
constexpr auto as_result = asio::as_tuple(asio::use_awaitable);
}

connection::connection(const asio::any_io_executor& on) : session_(std::make_shared<session>(on)) {}

connection::~connection() {
  session_->end();
}

asio::awaitable<result<void>> connection::open(std::string connection_string,
                                               std::chrono::milliseconds within) {
  const auto self = session_;
  const auto deadline = std::chrono::steady_clock::now() + within;
  // A secret may have changed since the start. libpq's own words about a bad one would quote it.
  if (const auto good = check_connection_string(connection_string); !good)
    co_return permanent("cannot connect to PostgreSQL: database.url " + good.error().message);
  auto hosts = co_await resolve_hosts(connection_string, deadline, {self, &self->changed});
  if (self->lost) co_return tl::make_unexpected(*self->lost);  // closed meanwhile
  if (!hosts) co_return transient(fmt::format("cannot connect to PostgreSQL: {}", hosts.error().message));
  co_return co_await self->connect(connection_string, *hosts, deadline);
}

asio::awaitable<result<std::vector<rows>>> connection::execute(pipeline steps,
                                                               std::chrono::milliseconds within) {
  const auto self = session_;
  if (self->lost) co_return tl::make_unexpected(*self->lost);
  const auto deadline = std::chrono::steady_clock::now() + within;
  self->changed.expires_at(deadline);
  self->begin(steps);
  while (self->busy) {
    co_await self->changed.async_wait(as_result);
    if (self->busy && std::chrono::steady_clock::now() >= deadline)
      self->fail({fault::transient, fmt::format("PostgreSQL did not answer within {} ms", within.count())});
  }
  if (self->refusal) co_return tl::make_unexpected(*self->refusal);
  if (self->lost) co_return tl::make_unexpected(*self->lost);
  co_return std::move(self->answers);
}

asio::awaitable<void> connection::wait_until(std::chrono::steady_clock::time_point deadline) {
  const auto self = session_;
  self->changed.expires_at(deadline);
  while (!self->lost && !self->notified && !self->interrupted && std::chrono::steady_clock::now() < deadline)
    co_await self->changed.async_wait(as_result);
  self->interrupted = false;
}

asio::awaitable<void> connection::wait() {
  return wait_until(std::chrono::steady_clock::time_point::max());
}

void connection::interrupt() {
  session_->interrupted = true;
  session_->changed.cancel();
}

bool connection::take_notification() {
  return std::exchange(session_->notified, false);
}

const std::optional<error>& connection::lost() const {
  return session_->lost;
}

void connection::close() {
  session_->fail({fault::transient, "closed"});
}

}  // namespace outboxd::pg
