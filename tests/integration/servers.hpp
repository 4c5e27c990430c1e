// servers: what an operator or an accident does to the private servers. Tests that use it are in the suite "alone",
// except for rabbitmqctl on users and vhosts of their own.
#pragma once

#include <string>
#include <vector>

namespace outboxd::test {

/// `options`: postgres | postgres --immediate | rabbitmq | rabbitmq --kill. Returns when it takes connections again.
void restart_server(const std::vector<std::string>& options);

std::string rabbitmqctl(const std::vector<std::string>& words);

/// The broker stops to run, as on a machine that hangs, until this object goes, or its process does.
class frozen_broker {
 public:
  frozen_broker();
  ~frozen_broker();
  frozen_broker(const frozen_broker&) = delete;
  frozen_broker& operator=(const frozen_broker&) = delete;

 private:
  FILE* keeper_;
};

}  // namespace outboxd::test
