// outboxd console: who gets in, over the wire; the rules themselves are in tests/unit/console_gate_test.cpp.
#include <doctest/doctest.h>

#include "acting_console.hpp"
#include "settings_file.hpp"

namespace outboxd::test::console_access_test {
namespace {

std::string cookie_in(const http_answer& answer) {
  constexpr std::string_view name = "Set-Cookie: ";
  const auto at = answer.header.find(name);
  REQUIRE(at != std::string::npos);
  return "Cookie: " + answer.header.substr(at + name.size(), answer.header.find(';', at) - at - name.size()) +
         "\r\n";
}

std::string login(const char* token) {
  return nlohmann::json{{"token", token}}.dump();
}

}  // namespace

TEST_CASE("with tokens, nothing but the empty page is seen before a login, and everything after it") {
  const stage on;
  const operator_desk desk{on};
  const acting_console console{desk};
  CHECK(console.get("/").status == 200);
  for (const auto* path : {"/api/now", "/api/stuck", "/api/audit", "/api/settings", "/api/session",
                           "/api/event?id=6f1c1f1e-2f0c-4b1e-9d55-0a1b2c3d4e5f"}) {
    CAPTURE(path);
    CHECK(console.get(path).status == 401);
  }
  CHECK(console.post("/api/login", login("wrong-wrong-wrong")).status == 401);
  const auto logged_in = console.post("/api/login", login(act_token));
  REQUIRE(logged_in.status == 200);
  const auto cookie = cookie_in(logged_in);
  const auto session = console.ask("GET", "/api/session", cookie);
  CHECK(nlohmann::json::parse(session.body).at("may") == "act");
  CHECK(console.ask("GET", "/api/now", cookie).status == 200);
  CHECK(console.post("/api/logout", "{}", cookie).status == 200);
  CHECK(console.ask("GET", "/api/now", cookie).status == 401);
}

TEST_CASE("a login from another site's page, and a body that is none, are refused") {
  const stage on;
  const operator_desk desk{on};
  const acting_console console{desk};
  const auto from = [&](std::string_view headers) {
    return console.ask("POST", "/api/login", headers, login(act_token)).status;
  };
  CHECK(from("Origin: http://evil.example\r\nContent-Type: application/json\r\n") == 403);
  CHECK(from("Content-Type: application/json\r\n") == 403);
  CHECK(from(fmt::format("Origin: http://127.0.0.1:{}\r\nContent-Type: text/plain\r\n", console.port())) ==
        415);
  CHECK(console.post("/api/login", std::string(100'000, 'x')).status == 413);
  auto client = console.connect();
  client.send("GET /api/session HTTP/1.1\r\nHost: evil.example\r\n\r\n");
  CHECK(client.read_answer().status == 421);
}

TEST_CASE("settings are shown without secrets, and a log has none") {
  const stage on;
  const operator_desk desk{on};
  acting_console console{desk};
  const auto answer =
      console.ask("GET", "/api/settings", fmt::format("Authorization: Bearer {}\r\n", read_token));
  CHECK(answer.status == 200);
  console.send(SIGTERM);
  const auto log = console.all_lines();
  for (const auto* secret : {read_token, act_token}) {
    CHECK(answer.body.find(secret) == std::string::npos);
    for (const auto& line : log) CHECK(line.find(secret) == std::string::npos);
  }
  CHECK(answer.body.find("OUTBOXD_CONSOLE_ACT_TOKEN") != std::string::npos);
}

TEST_CASE("a console that asks nobody listens on loopback addresses alone, and access has to fit") {
  const stage on;
  const operator_desk desk{on};
  const auto refuses = [&](const arguments& flags, std::string_view words) {
    arguments all{"console"};
    all.insert(all.end(), flags.begin(), flags.end());
    const auto done = desk.run(all);
    CHECK_MESSAGE(done.exited(2), done.text());
    CHECK_MESSAGE(done.says(std::string(words)), done.text());
  };
  refuses({"--console-listen", ":9465"}, "nobody would have to log in");
  refuses({"--console-access", "act"}, "needs somebody who may act");
  refuses({"--console-access", "off"}, "read or act for the console to be served");
  refuses({"--console-listen", "off"}, "an address for the console to be served");
  refuses({"--console-read-token", "short"}, "at least 16 characters");
  refuses({"--console-proxy-header", "X-User"}, "needs console.proxy_addresses");
  refuses({"--console-read-token-file", "/nonexistent"}, "cannot read the secret file");
}

TEST_CASE("the relay takes a file with settings of the console, and leaves its secrets alone") {
  const stage on;
  const settings_file file{"[console]\nact_token_file = \"/nonexistent\"\naccess = \"act\"\n"};
  const auto done = run_outboxd({"run", "--print-config", "--config", file.path()}, on.variables());
  CHECK_MESSAGE(done.exited(0), done.text());
  CHECK(done.says("act_token_file = \"/nonexistent\""));
}

}  // namespace outboxd::test::console_access_test
