// secret: a connection string that is read anew for every connection, so that a changed password needs no
// restart; its password may be what a program of the user's prints. read_secret.hpp reads it on a reactor.
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
  // The connection string with this password in it.
  using join = result<std::string> (*)(const std::string& address, const std::string& password);

  secret() = default;
  secret(text address) : address_(std::move(address)) {}  // NOLINT(google-explicit-constructor)
  secret(text address, std::shared_ptr<password_command> command, join with)
      : address_(std::move(address)), command_(std::move(command)), join_(with) {}

  // As it is written; without the password that the command would print.
  result<std::string> address() const { return address_(); }

  // Prints the password; null: the password, if any, is in the address.
  const std::shared_ptr<password_command>& command() const { return command_; }

  // The address with what the command has printed.
  result<std::string> with_password(const std::string& address, const std::string& password) const {
    return join_(address, password);
  }

  // For a connection that is about to be made, in a program without a reactor: waits for the command.
  result<std::string> read_blocking() const;

  // Ends a command that runs, and lets no other begin.
  void stop() const;

 private:
  text address_;
  std::shared_ptr<password_command> command_;
  join join_ = nullptr;
};

}  // namespace outboxd::relay
