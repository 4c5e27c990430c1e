// secret: a connection string that is read again for every connection, so that a changed password needs no
// restart; a user's program may supply the password. read_secret.hpp reads it on a reactor.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "core/error.hpp"

namespace outboxd::relay {

class password_command;

class secret {
 public:
  using text = std::function<result<std::string>()>;
  // Returns the connection string with this password.
  using join = result<std::string> (*)(const std::string& address, const std::string& password);

  secret() = default;
  secret(text address) : address_(std::move(address)) {}  // NOLINT(google-explicit-constructor)
  secret(text address, std::shared_ptr<password_command> command, join with)
      : address_(std::move(address)), command_(std::move(command)), join_(with) {}

  // The connection string as configured, without the password that the command would print.
  result<std::string> address() const { return address_(); }

  // Returns the command that prints the password; null: the connection string contains the password, if any.
  const std::shared_ptr<password_command>& command() const { return command_; }

  // The connection string with the password that the command printed.
  result<std::string> with_password(const std::string& address, const std::string& password) const {
    return join_(address, password);
  }

  // For connecting in a program without a reactor: blocks until the command finishes.
  result<std::string> read_blocking() const;

  // Cancels the running command and prevents new ones from starting.
  void stop() const;

 private:
  text address_;
  std::shared_ptr<password_command> command_;
  join join_ = nullptr;
};

}  // namespace outboxd::relay
