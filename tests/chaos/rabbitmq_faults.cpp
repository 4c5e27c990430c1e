// rabbitmq_faults: faults of RabbitMQ, of the exchange and the queue, and of the relays' permissions.
#include <fmt/format.h>

#include <optional>

#include "injector.hpp"
#include "support/broker_admin.hpp"
#include "support/servers.hpp"

namespace outboxd::chaos {
namespace {

using namespace std::chrono_literals;
using namespace test;

std::uint64_t closed_by_broker(const scene& on) {
  std::uint64_t sum = 0;
  for (const auto& one : on.all.relays) sum += one->link(server::rabbitmq).counters().closed_by_server;
  return sum;
}

void close_connections(const scene& on) {
  close_connections_of(on.all.where.user(), "chaos");
}

/// Waits for more lines of this kind in the relays' logs, which are the evidence.
void await_lines(scene& on, const std::string& part, std::size_t before, std::chrono::milliseconds limit) {
  if (on.await([&] { return on.all.lines_with(part) > before; }, limit))
    on.saw(fmt::format("{} lines with '{}'", on.all.lines_with(part) - before, part));
}

void raise_alarm(scene& on) {
  set_memory_watermark("0");
  on.hold();
  const auto states = told_of_connections("state");
  std::size_t blocked = 0;
  for (auto at = states.find("block"); at != std::string::npos; at = states.find("block", at + 1)) ++blocked;
  if (blocked > 0) on.saw(fmt::format("{} connections blocked", blocked));
  set_memory_watermark("0.4");
}

void restart_broker(scene& on, const std::vector<std::string>& how) {
  const int before = broker_pid();
  restart_server(how);
  const int after = broker_pid();
  if (before != after) on.saw(fmt::format("process {}, then {}", before, after));
}

void crash(scene& on) {
  restart_broker(on, {"rabbitmq", "--kill"});
}

void stop_app(scene& on) {
  const auto before = closed_by_broker(on);
  stop_broker_app();
  on.hold();
  std::optional<std::string> answer;
  try {
    broker{on.all.where.broker_url()};
  } catch (const broker_error& error) {
    answer = error.what();
  }
  if (answer) on.saw(fmt::format("{} connections closed; {}", closed_by_broker(on) - before, *answer));
  start_broker_app();
}

void freeze(scene& on) {
  const frozen_broker ice;
  on.hold();
  if (is_stopped(broker_pid())) on.saw("stopped all the time");
}

void close_all(scene& on) {
  const auto before = closed_by_broker(on);
  close_connections(on);
  if (on.await([&] { return closed_by_broker(on) > before; }))
    on.saw(fmt::format("{} connections closed", closed_by_broker(on) - before));
}

void fill_queue(scene& on) {
  constexpr auto words = "nacked by the broker";
  const auto before = on.all.lines_with(words);
  on.all.records.pause();
  const auto& vhost = on.all.where.vhost();
  set_policy(
      {.name = "full", .pattern = "^events$", .definition = R"([{<<"max-length">>, 1}])", .vhost = vhost});
  on.hold();
  await_lines(on, words, before, 10s);
  clear_policy("full", vhost);
  on.all.records.resume();
}

void unbind(scene& on) {
  constexpr auto words = "returned by the broker";
  const auto before = on.all.lines_with(words);
  const auto since = std::chrono::steady_clock::now();
  on.all.where.unbind();
  on.hold();
  on.all.where.bind();
  on.was_unroutable(since);
  await_lines(on, words, before, 5s);
}

void delete_exchange(scene& on) {
  constexpr auto words = "404";
  const auto before = on.all.lines_with(words);
  const auto since = std::chrono::steady_clock::now();
  on.all.where.connect_broker().delete_exchange(on.all.where.exchange());
  on.hold();
  on.all.where.declare_exchange();
  on.all.where.bind();
  on.was_unroutable(since);
  await_lines(on, words, before, 5s);
}

void revoke(scene& on) {
  constexpr auto words = "403";
  const auto before = on.all.lines_with(words);
  on.all.where.set_permissions(false);
  close_connections(on);
  on.hold();
  await_lines(on, words, before, 10s);
  on.all.where.set_permissions(true);
}

void change_broker_password(scene& on) {
  constexpr auto words = "check the user, its password";
  const auto before = on.all.lines_with(words);
  on.all.where.change_broker_password();
  close_connections(on);
  on.hold();
  await_lines(on, words, before, 10s);
  for (const auto& one : on.all.relays) one->write_secrets();
}

constexpr act broker_acts[]{
    {fault::alarm, raise_alarm},
    {fault::broker_killed, crash},
    {fault::broker_restarted, [](scene& on) { restart_broker(on, {"rabbitmq"}); }},
    {fault::broker_app_stopped, stop_app},
    {fault::broker_frozen, freeze},
    {fault::connections_closed, close_all},
    {fault::queue_full, fill_queue},
    {fault::queue_unbound, unbind},
    {fault::exchange_deleted, delete_exchange},
    {fault::permission_revoked, revoke},
    {fault::broker_password, change_broker_password},
};

}  // namespace

void rabbitmq_fault(scene& on) {
  play(on, broker_acts);
}

}  // namespace outboxd::chaos
