// Guarantee 10: a leader that hangs loses the lead after claim_timeout, another one goes on, and it comes back as a standby.
#include <doctest/doctest.h>

#include "load.hpp"
#include "stage.hpp"
#include "support/tcp_proxy.hpp"

namespace outboxd::test {
namespace {

constexpr int batch = 50;
const arguments short_lead{"--relay-claim-timeout", "2s", "--amqp-confirm-timeout", "1s", "--relay-batch",
                           std::to_string(batch)};

constexpr auto leads = "leads shard 0 of 1";

// The stage's database through a proxy.
environment through(const tcp_proxy& proxy, const stage& on) {
  auto url = on.database_url();
  const auto host = url.find('@') + 1;
  return {{"OUTBOXD_DATABASE_URL",
           url.replace(host, url.find('/', host) - host, fmt::format("127.0.0.1:{}", proxy.port()))}};
}

std::uint16_t database_port(const stage& on) {
  return static_cast<std::uint16_t>(on.connect().number("SELECT inet_server_port()"));
}

}  // namespace

TEST_CASE("a leader that hangs under load loses the lead, and the other one goes on") {
  const stage on;
  load writers{on};
  relay first{on, short_lead};
  first.wait_line(leads, patience);
  relay second{on, short_lead};
  second.await_connected();
  on.await_published(500);
  const auto from = first.lines().size();
  first.send(SIGSTOP);
  second.wait_line(leads, patience);
  on.await_published(on.count("published") + 200);
  first.send(SIGCONT);
  first.wait_line("PostgreSQL: ", patience, from);  // its session is gone, and it says so
  first.wait_line("connected to PostgreSQL", patience, from);
  on.await_published(on.count("published") + 200);
  writers.stop();
  on.await_drained();
  second.stop();
  on.add_events(1, 10);  // for the first one alone
  const auto report = on.check_all();
  CHECK_MESSAGE(report.sound(), report.words());
  CHECK_MESSAGE(report.duplicates <= 2 * 4 * batch, report.words());
  first.stop();
}

TEST_CASE("a leader that hangs while it sleeps loses the lead, and what is committed meanwhile leaves") {
  const stage on;
  relay first{on, short_lead};
  on.await_asleep();
  relay second{on, short_lead};
  second.await_connected();
  first.send(SIGSTOP);
  on.add_events(5, 10);
  on.await_drained();
  CHECK(second.wait_line(leads, patience).find(leads) != std::string::npos);
  first.send(SIGCONT);
  on.add_events(5, 10);
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  first.stop();
  second.stop();
}

TEST_CASE("relays that hang and wake up in turns disturb no order") {
  const stage on;
  on.add_events(200, 40);
  load writers{on};
  relay first{on, short_lead};
  relay second{on, short_lead};
  first.await_connected();
  second.await_connected();
  for (int i = 0; i < 4; ++i) {
    relay& one = i % 2 == 0 ? first : second;
    on.await_published(on.count("published") + 200);
    one.send(SIGSTOP);
    on.await_published(on.count("published") + 200);  // by the other one, whoever led
    one.send(SIGCONT);
  }
  writers.stop();
  const auto report = on.check_all();
  CHECK_MESSAGE(report.sound(), report.words());
  first.stop();
  second.stop();
}

// The server waits in the middle of an answer or a statement, where idle_session_timeout is not armed.
TEST_CASE("a leader whose connection stands still loses the lead, wherever it stopped") {
  for (const auto side : {direction::to_client, direction::to_server}) {
    for (const auto how : {flow::kind::stall, flow::kind::drop}) {
      CAPTURE(static_cast<int>(side));
      CAPTURE(static_cast<int>(how));
      const stage on{{.payload = "text"}};
      tcp_proxy proxy{database_port(on)};
      const arguments large{"--relay-claim-timeout", "2s", "--amqp-confirm-timeout", "1s"};
      relay first{on, large, through(proxy, on)};
      first.wait_line(leads, patience);
      relay second{on, large};
      second.await_connected();
      auto session = on.connect();
      const auto add = [&] {
        session.exec(
            "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload)"
            " SELECT 'file', n % 50, $1, repeat(md5(n::text), 100) FROM generate_series(1, 2000) AS n",
            {on.key()});
      };
      add();
      on.await_published(500);
      proxy.set(side, {.what = how});
      add();
      second.wait_line(leads, patience);
      proxy.heal();
      const auto report = on.check_all();
      CHECK_MESSAGE(report.sound(), report.words());
      first.stop();
      second.stop();
    }
  }
}

}  // namespace outboxd::test
