// secret: a connection string that is read anew for every connection, so that a changed password needs no
// restart; its password may be what a program of the user's prints.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <functional>
#include <memory>
#include <string>

#include "core/error.hpp"
#include "relay/password_command.hpp"

namespace outboxd::relay {

class secret {
 public:
  using text = std::function<result<std::string>()>;
  // The connection string with this password in it.
  using join = result<std::string> (*)(const std::string& address, const std::string& password);

  secret() = default;
  secret(text address) : address_(std::move(address)) {}  // NOLINT(google-explicit-constructor)
  secret(text address, std::shared_ptr<password_command> command, join with)
      : address_(std::move(address)), command_(std::move(command)), join_(with) {}

  // As it is written; without the password that the command would print.
  result<std::string> address() const { return address_(); }

  // For a connection that is about to be made. The command runs on the caller's executor.
  boost::asio::awaitable<result<std::string>> read() const;

  // The same for a program without a reactor: waits.
  result<std::string> read_blocking() const;

  // Ends a command that runs, and lets no other begin.
  void stop() const;

 private:
  text address_;
  std::shared_ptr<password_command> command_;  // none: the password, if any, is in the address
  join join_ = nullptr;
};

}  // namespace outboxd::relay
