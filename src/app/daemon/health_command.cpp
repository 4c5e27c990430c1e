#include <fmt/format.h>

#include <memory>

#include "app/command/outcome.hpp"
#include "app/daemon/commands.hpp"
#include "http/client.hpp"

namespace outboxd::app {
namespace {

constexpr std::chrono::milliseconds answer_timeout{2'000};

bool has_no_fixed_port(const http::address& where) {
  const auto* tcp = std::get_if<http::tcp_address>(&where);
  return tcp != nullptr && tcp->port == 0;
}

// `ready`: checks whether the relay can publish, not only whether its process is alive.
int health_command(const settings& from, bool ready) {
  if (from.http.listen.empty()) return refuse("http.listen is off: the relay cannot be asked");
  const auto& where = from.http.listen.front();
  if (has_no_fixed_port(where)) return refuse("http.listen has port 0: the relay's log names the port");
  const auto answer = http::get(where, ready ? "/readyz" : "/healthz", answer_timeout);
  if (!answer) {
    say_error(answer.error().message);
    return exit_failure;
  }
  fmt::print("{}", answer->body);
  if (answer->status == 200) return exit_success;
  if (answer->body.empty()) say_error(fmt::format("{}: HTTP status {}", http::url_of(where), answer->status));
  return exit_failure;
}

}  // namespace

void add_health_command(CLI::App& app, command_set& to) {
  CLI::App* const health = app.add_subcommand("health", "check whether a running relay is healthy");
  const auto ready = std::make_shared<bool>(false);
  health->add_flag("--ready", *ready, "check that it can publish, not only that it is alive");
  to.push_back({health, purpose::health,
                [ready](const settings& from) { return health_command(from, *ready); }, scope::process});
}

}  // namespace outboxd::app
