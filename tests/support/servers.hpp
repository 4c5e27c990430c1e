// servers: what an operator or an accident does to the private servers of tools/services. Integration tests
// that use it are in the suite "alone".
#pragma once

#include <cstdio>
#include <string>
#include <vector>

namespace outboxd::test {

/// tools/services with these words; throws std::runtime_error with its output unless it exits 0.
std::string services(const std::vector<std::string>& words);

/// `options`: postgres | postgres --immediate | rabbitmq | rabbitmq --kill, which forgets no declaration.
/// Returns when it takes connections again.
void restart_server(const std::vector<std::string>& options);

/// The broker's process; 0 while it does not run.
int broker_pid();

/// The kernel has stopped this process (state T).
bool is_stopped(int pid);

/// The fraction of the memory from which the broker takes nothing any more: 0.4, or 0 for an alarm at once.
void set_memory_watermark(const std::string& fraction);

/// The broker has a memory alarm and takes nothing, until end() or the object goes.
class memory_alarm {
 public:
  memory_alarm() { set_memory_watermark("0"); }
  ~memory_alarm() {
    if (on_) set_memory_watermark("0.4");
  }
  memory_alarm(const memory_alarm&) = delete;
  memory_alarm& operator=(const memory_alarm&) = delete;
  void end() {
    set_memory_watermark("0.4");
    on_ = false;
  }

 private:
  bool on_ = true;
};

/// The broker stops to run, as on a machine that hangs, until this object goes, or its process does.
class frozen_broker {
 public:
  frozen_broker();
  ~frozen_broker();
  frozen_broker(const frozen_broker&) = delete;
  frozen_broker& operator=(const frozen_broker&) = delete;

 private:
  std::FILE* keeper_;
};

}  // namespace outboxd::test
