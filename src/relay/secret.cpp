#include "relay/secret.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <exception>
#include <optional>
#include <utility>

#include "relay/password_command.hpp"
#include "relay/read_secret.hpp"

namespace outboxd::relay {

boost::asio::awaitable<result<std::string>> read_secret(secret from) {
  const auto address = from.address();
  if (!address || !from.command()) co_return address;
  OUTBOXD_CO_TRY(const auto password, co_await from.command()->run());
  co_return from.with_password(*address, password);
}

result<std::string> secret::read_blocking() const {
  if (!command_) return address_();
  boost::asio::io_context io(1);
  std::optional<result<std::string>> out;
  boost::asio::co_spawn(io, read_secret(*this),
                        [&](const std::exception_ptr& thrown, result<std::string> done) {
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
