#include "stage/instructions.hpp"

#include <fmt/format.h>

#include <csignal>
#include <stdexcept>

#include "stage/await.hpp"
#include "stage/relay.hpp"

namespace outboxd::bench {
namespace {

using namespace std::chrono_literals;

constexpr auto valgrind = "/usr/bin/valgrind";

double instructions_of(const setup& on, const filling& how, const std::vector<std::string>& relay_flags) {
  stage where(on);
  where.fill(how);
  std::vector<std::string> words{"--tool=callgrind", "--callgrind-out-file=/dev/null", on.program("outboxd")};
  const auto run = relay_arguments(on, relay_flags);
  words.insert(words.end(), run.begin(), run.end());
  test::process counted(
      {.program = valgrind, .arguments = words, .environment = relay_environment(on, where), .log_file = {}});
  auto session = where.connect();
  await("every event is marked", [&] {
    if (!counted.running()) throw std::runtime_error("outboxd under valgrind has ended: " + counted.tail());
    return session.number("SELECT count(*) FROM outbox.event WHERE status = 'pending'") == 0;
  });
  counted.send(SIGTERM);
  counted.wait(60s);
  const std::string mark = "Collected : ";
  for (const auto& line : counted.all_lines())
    if (const auto at = line.find(mark); at != std::string::npos)
      return std::stod(line.substr(at + mark.size()));
  throw std::runtime_error("valgrind said no number of instructions: " + counted.tail());
}

}  // namespace

std::optional<double> instructions_per_event(const setup& on, const filling& how,
                                             const std::vector<std::string>& relay_flags) {
  if (!std::filesystem::exists(valgrind)) return std::nullopt;
  auto few = how;
  few.events = how.events / 6;
  return (instructions_of(on, how, relay_flags) - instructions_of(on, few, relay_flags)) /
         static_cast<double>(how.events - few.events);
}

}  // namespace outboxd::bench
