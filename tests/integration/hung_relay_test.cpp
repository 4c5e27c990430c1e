// Guarantee 10: a leader that hangs loses the lead after claim_timeout, another one goes on, and it comes
// back as a standby.
#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <memory>

#include "load.hpp"
#include "stage.hpp"
#include "support/tcp_proxy.hpp"

namespace outboxd::test::hung_relay_test {
namespace {

constexpr int batch = 50;
const arguments short_lead{"--relay-claim-timeout", "2s", "--relay-batch", std::to_string(batch)};

constexpr auto leads = "leads shard 0 of 1";

// The stage's database through a proxy.
environment through(const tcp_proxy& proxy, const stage& on) {
  auto url = on.database_url();
  const auto host = url.find('@') + 1;
  return {{"OUTBOXD_DATABASE_URL",
           url.replace(host, url.find('/', host) - host, fmt::format("127.0.0.1:{}", proxy.port()))}};
}

// How often it took the lead. On a busy machine a leader may hang for claim_timeout without being told to.
std::ptrdiff_t leads_taken(const process& by) {
  return by.count_lines(leads);
}

std::uint16_t database_port(const stage& on) {
  return static_cast<std::uint16_t>(on.ask("SELECT inet_server_port()"));
}

}  // namespace

TEST_CASE("a leader that hangs under load loses the lead, and the other one goes on") {
  const stage on;
  load writers{on};
  relay first{on, short_lead};
  first.wait_line(leads, time_limit);
  const auto hangs = on.await_leader();
  relay second{on, short_lead};
  second.await_connected();
  on.await_published(500);
  const auto from = first.lines().size();
  first.send(SIGSTOP);
  second.wait_line(leads, time_limit);
  eventually(
      "the session of the one that hangs is ended",
      [&] {
        return on.ask("SELECT count(*) FROM pg_stat_activity WHERE pid = $1", {std::to_string(hangs)}) == 0;
      },
      time_limit);
  on.await_published(on.count("published") + 200);
  first.send(SIGCONT);
  first.wait_line("PostgreSQL: ", time_limit, from);  // its session is gone, and it says so
  first.wait_line("connected to PostgreSQL", time_limit, from);
  on.await_published(on.count("published") + 200);
  writers.stop();
  on.await_drained(2 * time_limit);
  second.stop();
  on.add_events(1, 10);  // for the first one alone
  const auto report = on.check_all();
  CHECK_MESSAGE(report.sound(), report.words());
  first.stop();
  const auto lost = leads_taken(first) + leads_taken(second);  // each with four batches in memory at most
  CHECK_MESSAGE(report.duplicates <= static_cast<std::size_t>(lost * 4 * batch), report.words());
}

TEST_CASE("a leader that hangs while it sleeps loses the lead, and what is committed meanwhile leaves") {
  const stage on;
  const arguments patient{"--relay-claim-timeout", "15s"};  // for the second one, on a busy machine
  relay first{on, patient};
  on.await_asleep();
  relay second{on, patient};
  second.await_connected();
  first.send(SIGSTOP);
  on.add_events(5, 10);
  on.await_drained();
  CHECK(second.wait_line(leads, time_limit).find(leads) != std::string::npos);
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
  const auto report = on.check_all(2 * time_limit);
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
      const arguments large{"--relay-claim-timeout", "2s"};
      relay first{on, large, through(proxy, on)};
      first.wait_line(leads, time_limit);
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
      second.wait_line(leads, time_limit);
      proxy.heal();
      const auto report = on.check_all();
      CHECK_MESSAGE(report.sound(), report.words());
      first.stop();
      second.stop();
    }
  }
}

namespace {

// How a relay reaches the stage's database.
enum class way { tcp, socket };

environment by(const stage& on, way how) {
  if (how == way::tcp) return {};
  const auto socket = on.connect().value("SHOW unix_socket_directories");
  const auto url = on.database_url();
  const auto host = url.find('@') + 1;
  const auto end = url.find('/', host);
  const auto local =
      fmt::format("{}{}?host={}&port={}", url.substr(0, host), url.substr(end), socket, database_port(on));
  return {{"OUTBOXD_DATABASE_URL", local}};
}

environment stopping_at(environment variables, const std::string& point) {
  variables["OUTBOXD_FAILPOINT"] = point + ":1:stop";
  return variables;
}

void await_stopped(const relay& one) {
  eventually(
      "the relay has stopped",
      [&] {
        std::ifstream status{fmt::format("/proc/{}/status", one.pid())};
        for (std::string line; std::getline(status, line);)
          if (line.starts_with("State:")) return line.find("(stopped)") != std::string::npos;
        return false;
      },
      time_limit);
}

// The session that holds SLEEP of shard 0; 0 if there is none.
std::int64_t sleeper(const stage& on) {
  return on.ask(
      "SELECT coalesce(max(l.pid), 0) FROM pg_locks AS l JOIN pg_database AS d ON d.oid = l.database"
      " WHERE d.datname = current_database() AND l.locktype = 'advisory' AND l.objsubid = 2 AND l.objid = 64"
      " AND l.granted AND l.mode = 'ExclusiveLock'");
}

// Many, and so large that PostgreSQL cannot send what one read brings before somebody reads it.
void add_large(const stage& on) {
  on.connect().exec(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload)"
      " SELECT 'file', n % 50, $1, repeat(md5(n::text), 300) FROM generate_series(1, 1000) AS n",
      {on.key()});
}

const arguments short_claim{"--relay-claim-timeout", "2s"};

// A standby leads, the one that hung comes back, and all is as it should be. Duplicates: what it had sent and
// not marked.
void check_taken_over(const stage& on, relay& hung, relay& second) {
  second.wait_line(leads, time_limit);
  on.await_drained();
  const auto from = hung.lines().size();
  hung.send(SIGCONT);
  hung.wait_line("connected to PostgreSQL", time_limit, from);
  on.connect().exec(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload)"
      " SELECT 'file', n % 50, $1, 'another one' FROM generate_series(1, 100) AS n",
      {on.key()});
  const auto report = on.check_all();
  CHECK_MESSAGE(report.sound(), report.words());
  CHECK_MESSAGE(report.duplicates <= 1000, report.words());
  eventually(
      "one of them leads", [&] { return on.shards_led() == 1; }, time_limit);
  hung.stop();
  second.stop();
}

}  // namespace

namespace {

void check_stops(way how) {
  for (const std::string point : {"claimed", "sent", "half_received", "half_sent", "marking", "marked"}) {
    CAPTURE(point);
    const stage on{{.payload = "text"}};
    add_large(on);
    relay first{on, short_claim, stopping_at(by(on, how), point)};
    await_stopped(first);
    relay second{on, short_claim};
    check_taken_over(on, first, second);
  }
}

}  // namespace

TEST_CASE("a leader that stops in the middle of its work loses the lead, wherever it is") {
  check_stops(way::tcp);
}

TEST_CASE("the same over a Unix-domain socket") {
  check_stops(way::socket);
}

TEST_CASE("a leader that stops while PostgreSQL puts its mark off for a lock loses the lead, too") {
  for (const way how : {way::tcp, way::socket}) {
    CAPTURE(static_cast<int>(how));
    const stage on{{.payload = "text"}};
    const arguments claim{"--relay-claim-timeout",
                          "10s"};  // longer than what is inserted while it is frozen takes
    relay first{on, claim, by(on, how)};
    const auto leader = on.await_leader();
    relay second{on, claim};
    second.wait_line("standby: another", time_limit);
    first.freeze(on);  // so that there is something to mark when it goes on
    add_large(on);
    auto locker = on.connect();
    locker.exec("BEGIN; LOCK TABLE outbox.event IN SHARE MODE");
    first.send(SIGCONT);
    eventually(
        "a mark waits",
        [&] {
          return locker.number(
                     "SELECT count(*) FROM pg_stat_activity WHERE pid = $1 AND wait_event_type = 'Lock'",
                     {std::to_string(leader)}) == 1;
        },
        time_limit);
    first.send(SIGSTOP);
    second.wait_line(leads, time_limit);
    locker.exec("COMMIT");
    check_taken_over(on, first, second);
  }
}

TEST_CASE("a leader that stops while it sleeps keeps its successor neither from leading nor from sleeping") {
  for (const way how : {way::tcp, way::socket}) {
    CAPTURE(static_cast<int>(how));
    const stage on{{.payload = "text"}};
    relay first{on, short_claim, by(on, how)};
    on.await_asleep();
    const auto frozen = sleeper(on);
    first.send(SIGSTOP);
    relay second{on, short_claim};
    second.wait_line(leads, time_limit);
    eventually(
        "the new leader sleeps",
        [&] {
          const auto now = sleeper(on);
          return now != 0 && now != frozen;
        },
        time_limit);
    check_taken_over(on, first, second);
  }
}

TEST_CASE("of twenty relays one leads, the others say once that they stand by, and one of them follows") {
  const stage on;
  std::vector<std::unique_ptr<relay>> all;
  for (int i = 0; i < 20; ++i)
    all.push_back(
        std::make_unique<relay>(on, arguments{"--relay-lanes", "1", "--relay-claim-timeout", "1m"}));
  const auto count = [&](std::string_view words) {
    return std::count_if(all.begin(), all.end(),
                         [&](const auto& one) { return one->count_lines(words) == 1; });
  };
  eventually(
      "all have found their place", [&] { return count(leads) == 1 && count("standby: another") == 19; },
      2 * time_limit);
  on.add_events(10, 50);
  on.await_drained();
  CHECK(count("standby: another") == 19);
  const auto first =
      std::find_if(all.begin(), all.end(), [&](const auto& one) { return one->count_lines(leads) > 0; });
  (*first)->stop();
  all.erase(first);
  on.add_events(10, 50);
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  CHECK(count(leads) == 1);
  CHECK(count("standby: another") == 19);
  CHECK(on.shards_led() == 1);
}

}  // namespace outboxd::test::hung_relay_test
