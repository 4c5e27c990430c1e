#include "relay/secret.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <exception>
#include <optional>
#include <utility>

namespace outboxd::relay {

boost::asio::awaitable<result<std::string>> secret::read() const {
  const auto address = address_();
  if (!address || !command_) co_return address;
  const auto password = co_await command_->run();
  if (!password) co_return tl::make_unexpected(password.error());
  co_return join_(*address, *password);
}

result<std::string> secret::read_blocking() const {
  if (!command_) return address_();
  boost::asio::io_context io(1);
  std::optional<result<std::string>> out;
  boost::asio::co_spawn(io, read(), [&](const std::exception_ptr& thrown, result<std::string> done) {
    if (thrown) std::rethrow_exception(thrown);
    out = std::move(done);
  });
  io.run();
  return std::move(out.value());
}

void secret::stop() const {
  if (command_) command_->stop();
}

}  // namespace outboxd::relay
