#include "stage/relay.hpp"

#include <csignal>
#include <stdexcept>

namespace outboxd::bench {

// The stage has declared its exchange, so the relay declares none.
std::vector<std::string> relay_arguments(const setup& on, const std::vector<std::string>& flags) {
  std::vector<std::string> all{"run", "--amqp-declare", "false"};
  all.insert(all.end(), flags.begin(), flags.end());
  all.insert(all.end(), on.relay_flags.begin(), on.relay_flags.end());
  return all;
}

std::map<std::string, std::string> relay_environment(const setup& on, const stage& where) {
  return {{"OUTBOXD_DATABASE_URL", where.url()},
          {"OUTBOXD_AMQP_URL", on.amqp_url},
          {"OUTBOXD_HTTP_LISTEN", "off"}};  // several relays run on this machine
}

relay::relay(const setup& on, const stage& where, const std::vector<std::string>& flags)
    : process_({.program = on.program("outboxd"),
                .arguments = relay_arguments(on, flags),
                .environment = relay_environment(on, where),
                .log_file = {}}) {}

int relay::leads() const {
  int count = 0;
  for (const auto& line : process_.lines()) {
    if (line.find("leads shard ") != std::string::npos) ++count;
    if (line.find("released leadership of shard ") != std::string::npos) --count;
  }
  return count;
}

void relay::await_lead() {
  process_.wait_line("leads shard ", std::chrono::seconds{30});
}

bool relay::ready() const {
  bool database = false;
  bool broker = false;
  for (const auto& line : process_.lines()) {
    database = database || line.find("connected to PostgreSQL") != std::string::npos;
    broker = broker || line.find("connected to RabbitMQ") != std::string::npos;
  }
  return database && broker;
}

void relay::ask_to_stop() {
  process_.send(SIGTERM);
}

void relay::kill() {
  process_.send(SIGKILL);
}

void relay::stop() {
  using namespace std::chrono_literals;
  process_.send(SIGTERM);
  if (process_.wait(30s) != test::exit_status{.code = 0, .signal = {}})
    throw std::runtime_error("outboxd run did not end in order: " + process_.tail());
}

}  // namespace outboxd::bench
