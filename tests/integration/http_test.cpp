// HTTP: what the daemon answers while it relays, and that its clients are no burden to the relay.
#include "support/http_client.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "asked_relay.hpp"
#include "load.hpp"
#include "stage.hpp"

namespace outboxd::test::http_test {
namespace {

program_result health(const arguments& flags) {
  arguments words{"health"};
  words.insert(words.end(), flags.begin(), flags.end());
  return run_outboxd(words);
}

}  // namespace

TEST_CASE("the daemon answers each path, and other paths with a list of them") {
  const stage on;
  asked_relay running{on};
  running.await_connected();
  http_client client{running.port()};
  const auto alive = client.get("/healthz");
  CHECK(alive.status == 200);
  CHECK(alive.body == "ok\n");
  http_answer ready;
  eventually(
      "the relay is ready",
      [&] {
        ready = client.get("/readyz");
        return ready.status == 200;
      },
      time_limit);
  CHECK(nlohmann::json::parse(ready.body).at("ready") == true);
  const auto metrics = client.get("/metrics");
  CHECK(metrics.status == 200);
  CHECK(metrics.has("Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"));
  const auto status = client.get("/status?pretty");
  CHECK(status.status == 200);
  CHECK(status.has("Content-Type: application/json\r\n"));
  CHECK(nlohmann::json::parse(status.body).is_object());
  CHECK(client.get("/").body.find("/readyz") != std::string::npos);
  const auto unknown = client.get("/metric");
  CHECK(unknown.status == 404);
  CHECK(unknown.body.find("/metrics") != std::string::npos);
  client.send("HEAD /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
  CHECK(client.read_answer(true).status == 200);
  running.stop();
}

TEST_CASE("a name that nobody allowed is refused, and http.allowed_hosts allows it") {
  const stage on;
  constexpr auto named = "GET /healthz HTTP/1.1\r\nHost: relay.internal:9464\r\n\r\n";
  asked_relay strict{on};
  http_client refused{strict.port()};
  refused.send(named);
  CHECK(refused.read_answer().status == 421);
  asked_relay lenient{on, {"--http-allowed-hosts", "relay.internal"}};
  http_client allowed{lenient.port()};
  allowed.send(named);
  CHECK(allowed.read_answer().status == 200);
}

TEST_CASE("a hundred clients of the worst kind do not keep an event from being delivered") {
  const stage on;
  asked_relay running{on};
  running.await_connected();
  load writers{on, {.events = 500, .pause_seconds = 0.001}};
  std::vector<http_client> clients;
  for (int i = 0; i < 100; ++i) {
    clients.emplace_back(running.port());
    if (i % 4 == 0) clients.back().send("G");
    if (i % 4 == 1) clients.back().send(std::string(100'000, 'x'));
    if (i % 4 == 2) {
      std::string many;
      for (int n = 0; n < 50; ++n) many += "GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
      clients.back().send(many);
    }
  }
  writers.finish();
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  clients.clear();
  eventually(
      "the relay is well",
      [&] {
        return health({"--http-listen", running.address()}).exited(0);
      },
      time_limit);
  running.stop();
}

TEST_CASE("an address that is taken ends the start with words") {
  const stage on;
  asked_relay first{on};
  relay second{on, {"--http-listen", first.address()}};
  CHECK(second.wait(time_limit).code == 1);
  const auto said = second.tail();
  CHECK_MESSAGE(said.find("http://" + first.address() + " (http.listen)") != std::string::npos, said);
  first.stop();
}

TEST_CASE("a relay that was killed leaves its Unix socket to the next one") {
  const stage on;
  const auto path =
      (std::filesystem::temp_directory_path() / fmt::format("outboxd-{}.sock", ::getpid())).string();
  const arguments at{"--http-listen", "unix:" + path};
  {
    relay killed{on, at};
    killed.wait_line("listening on unix:" + path, time_limit);
  }
  REQUIRE(std::filesystem::exists(path));
  relay next{on, at};
  next.wait_line("listening on unix:" + path, time_limit);
  CHECK(http_client{path}.get("/healthz").status == 200);
  eventually(
      "it says that it is well",
      [&] {
        const auto asked = health(at);
        return asked.exited(0) && asked.says("ok");
      },
      time_limit);
  next.await_connected();
  next.stop();
  CHECK_FALSE(std::filesystem::exists(path));
}

TEST_CASE("`outboxd health` tells a relay that is well from one that is not there") {
  const stage on;
  asked_relay running{on};
  running.await_connected();
  const arguments there{"--http-listen", running.address()};
  eventually(
      "it is well", [&] { return health(there).exited(0); }, time_limit);
  eventually(
      "the relay is ready",
      [&] {
        const auto asked = health({"--http-listen", running.address(), "--ready"});
        return asked.exited(0) && asked.says("\"ready\": true");
      },
      time_limit);
  running.stop();
  const auto gone = health(there);
  CHECK(gone.exited(1));
  CHECK_MESSAGE(gone.says("http://" + running.address()), gone.text());
}

TEST_CASE("`outboxd health` tells a relay that is ready from one that lives and reaches no broker") {
  const stage on;
  asked_relay running{on, {}, {{"OUTBOXD_AMQP_URL", "amqp://127.0.0.1:1"}}};
  CHECK(health({"--http-listen", running.address()}).exited(0));
  const auto asked = health({"--http-listen", running.address(), "--ready"});
  CHECK_MESSAGE(asked.exited(1), asked.text());
  CHECK_MESSAGE(asked.says("\"ready\": false"), asked.text());
  running.stop();
}

TEST_CASE("`outboxd health` ends within its time when the relay hangs") {
  const stage on;
  asked_relay running{on};
  running.await_connected();
  running.send(SIGSTOP);
  const auto asked = health({"--http-listen", running.address()});
  running.send(SIGCONT);
  CHECK(asked.exited(1));
  CHECK_MESSAGE(asked.says("does not answer within 2000 ms"), asked.text());
  running.stop();
}

TEST_CASE("`outboxd health` says why it cannot ask") {
  const auto off = health({"--http-listen", "off"});
  CHECK(off.exited(2));
  CHECK_MESSAGE(off.says("http.listen is off"), off.text());
  CHECK(health({"--http-listen", "127.0.0.1:0"}).exited(2));
  CHECK(health({"--http-listen", "nonsense"}).exited(2));
}

}  // namespace outboxd::test::http_test
