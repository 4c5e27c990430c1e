// A leader that has lost its broker: it makes way for a relay that has one, and for nobody else.
#include <doctest/doctest.h>

#include "asked_relay.hpp"
#include "stage.hpp"
#include "support/tcp_proxy.hpp"

namespace outboxd::test::brokerless_leader_test {
namespace {

constexpr auto leads = "leads shard 0 of 1";

std::string broker_url() {
  return required_environment("OUTBOXD_AMQP_URL");
}

std::uint16_t broker_port() {
  const auto url = broker_url();
  return static_cast<std::uint16_t>(std::stoi(url.substr(url.rfind(':') + 1)));
}

// The broker through a proxy.
environment through(const tcp_proxy& proxy) {
  auto url = broker_url();
  const auto port = url.rfind(':') + 1;
  return {{"OUTBOXD_AMQP_URL", url.replace(port, url.find_first_not_of("0123456789", port) - port,
                                           std::to_string(proxy.port()))}};
}

void cut_off(tcp_proxy& proxy) {
  proxy.set(welcome::refuse);
  proxy.reset();
}

}  // namespace

TEST_CASE("a leader without a broker makes way for a standby that has one, and stands by itself") {
  const stage on;
  tcp_proxy proxy{broker_port()};
  relay first{on, {}, through(proxy)};
  first.wait_line(leads, time_limit);
  first.await_connected();
  relay second{on};
  second.await_connected();
  on.add_events(2, 50);
  on.await_drained();
  const auto leader = on.await_leader();
  cut_off(proxy);
  on.add_events(2, 50);
  second.wait_line(leads, time_limit);
  on.await_drained();
  CHECK(on.await_leader() != leader);
  const auto seen = first.lines().size();
  proxy.set(welcome::forward);
  first.wait_line("connected to RabbitMQ", time_limit, seen);
  on.add_events(2, 50);
  const auto report = on.check_all();
  CHECK_MESSAGE(report.sound(), report.words());
  CHECK(report.delivered == 300);
  CHECK(first.count_lines(leads) == 1);
  CHECK(second.count_lines(leads) == 1);
  first.stop();
  second.stop();
}

TEST_CASE("without a broker and with nobody who has one, a leader keeps the lead") {
  const stage on;
  tcp_proxy of_first{broker_port()};
  tcp_proxy of_second{broker_port()};
  asked_relay first{on, {}, through(of_first)};
  first.wait_line(leads, time_limit);
  relay second{on, {}, through(of_second)};
  second.await_connected();
  const auto leader = on.await_leader();
  const auto counted = [&on] {
    return on.ask(
        "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 2 AND objid = 128"
        " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())");
  };
  eventually(
      "both could lead", [&] { return counted() == 2; }, time_limit);
  cut_off(of_second);
  eventually(
      "one could lead", [&] { return counted() == 1; }, time_limit);
  cut_off(of_first);
  eventually(
      "none could lead", [&] { return counted() == 0; }, time_limit);
  on.add_events(2, 50);
  await_sweeps(first);
  CHECK(on.leader() == leader);
  // The leader first: if the other one had a broker before it, the leader would rightly make way.
  of_first.set(welcome::forward);
  eventually(
      "the leader could lead again", [&] { return counted() == 1; }, time_limit);
  of_second.set(welcome::forward);
  const auto report = on.check_all();
  CHECK_MESSAGE(report.sound(), report.words());
  CHECK(report.delivered == 100);
  CHECK(first.count_lines(leads) == 1);
  CHECK(second.count_lines(leads) == 0);
  first.stop();
  second.stop();
}

}  // namespace outboxd::test::brokerless_leader_test
