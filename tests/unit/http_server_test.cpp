// http_server_test: what the server answers, and what it does with clients that are slow, hostile or many.
#include <doctest/doctest.h>

#include "running_http_server.hpp"

namespace http_server_test {

using namespace outboxd::http;
using namespace std::chrono_literals;
using outboxd::test::http_client;

namespace {

response echo(const request& asked) {
  if (asked.target == "/large") return {200, "text/plain", std::string(64'000'000, 'x')};
  if (asked.target == "/throws") throw std::runtime_error("secret");
  return {200, "text/plain", std::string(asked.method) + " " + std::string(asked.target)};
}

struct running_server : outboxd::test::running_http_server {
  explicit running_server(limits within = {}) : running_http_server(answers_at_once(echo), within) {}
};

constexpr auto host = "Host: 127.0.0.1\r\n";

}  // namespace

TEST_CASE("GET is answered, and the connection serves further requests") {
  const running_server on;
  auto client = on.connect();
  for (const auto* path : {"/a", "/b?c=d"}) {
    const auto answer = client.get(path);
    CHECK(answer.status == 200);
    CHECK(answer.body == "GET " + std::string(path));
    CHECK(answer.has("Cache-Control: no-store"));
  }
}

TEST_CASE("HEAD is answered like GET, without the body") {
  const running_server on;
  auto client = on.connect();
  client.send("HEAD /abc HTTP/1.1\r\nHost: localhost\r\n\r\n");
  const auto answer = client.read_answer(true);
  CHECK(answer.status == 200);
  CHECK(answer.has("Content-Length: 9\r\n"));
  CHECK(client.get("/next").body == "GET /next");
}

TEST_CASE("other methods are refused, with those that are allowed") {
  const running_server on;
  for (const auto* method : {"POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH", "BREW"}) {
    CAPTURE(method);
    const auto answer = on.last_answer(std::string(method) + " /a HTTP/1.1\r\n" + host + "\r\n");
    CHECK(answer.status == 405);
    CHECK(answer.has("Allow: GET, HEAD\r\n"));
  }
  const auto with_body = std::string("POST /a HTTP/1.1\r\n") + host + "Content-Length: 2\r\n\r\nxx";
  CHECK(on.last_answer(with_body).status == 405);
}

TEST_CASE("a body is refused") {
  const running_server on;
  const auto get = std::string("GET /a HTTP/1.1\r\n") + host;
  CHECK(on.last_answer(get + "Content-Length: 3\r\n\r\nabc").status == 413);
  CHECK(on.last_answer(get + "Content-Length: 99999999999\r\n\r\n").status == 413);
  CHECK(on.last_answer(get + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n").status == 413);
  CHECK(on.last_answer(get + "Content-Length: -1\r\n\r\n").status == 400);
}

TEST_CASE("a header that is too large is refused, however much of it comes") {
  const running_server on({.header_bytes = 1000});
  for (const std::size_t size : {1'000, 100'000}) {
    CAPTURE(size);
    const auto get = std::string("GET /a HTTP/1.1\r\n") + host;
    CHECK(on.last_answer(get + "X: " + std::string(size, 'x') + "\r\n\r\n").status == 431);
    CHECK(on.last_answer("GET /" + std::string(size, 'x')).status == 431);
  }
}

TEST_CASE("what is no HTTP is refused") {
  const running_server on;
  for (const auto* wrong : {"\x16\x03\x01\x02\r\n\r\n", "hello\r\n\r\n", "GET\r\n\r\n", "GET /a\r\n\r\n",
                            "GET /a HTTP/1.1\r\nno colon\r\n\r\n", "\r\n\r\n\r\n"}) {
    CAPTURE(wrong);
    CHECK(on.last_answer(wrong).status == 400);
  }
  CHECK(on.last_answer("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").status == 505);
}

TEST_CASE("the Host is an address or localhost, and there is exactly one") {
  const running_server on;
  const auto status = [&on](std::string_view rest) {
    return on.last_answer("GET " + std::string(rest) + "Connection: close\r\n\r\n").status;
  };
  CHECK(status("/a HTTP/1.1\r\nHost: localhost:9464\r\n") == 200);
  CHECK(status("/a HTTP/1.0\r\n") == 200);
  CHECK(status("/a HTTP/1.1\r\n") == 400);
  CHECK(status("/a HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n") == 400);
  CHECK(status("/a HTTP/1.1\r\nHost: evil.example\r\n") == 421);
  CHECK(status("/a HTTP/1.0\r\nHost: evil.example\r\n") == 421);
  CHECK(status("/a HTTP/1.1\r\nHost:\r\n") == 421);
  CHECK(status("http://evil.example/a HTTP/1.1\r\nHost: localhost\r\n") == 400);
  CHECK(status("* HTTP/1.1\r\nHost: localhost\r\n") == 400);
}

TEST_CASE("pipelined requests are answered in order") {
  const running_server on;
  auto client = on.connect();
  std::string all;
  for (int i = 0; i < 50; ++i) all += "GET /" + std::to_string(i) + " HTTP/1.1\r\n" + host + "\r\n";
  client.send(all);
  for (int i = 0; i < 50; ++i) CHECK(client.read_answer().body == "GET /" + std::to_string(i));
}

TEST_CASE("an answer that fails says no more than that") {
  const running_server on;
  auto client = on.connect();
  const auto answer = client.get("/throws");
  CHECK(answer.status == 500);
  CHECK(answer.body.find("secret") == std::string::npos);
  CHECK(client.get("/a").status == 200);
}

TEST_CASE("a client that does not send its whole request in time is closed") {
  const running_server on({.request = 100ms});
  for (const auto* begun : {"", "G", "GET /a HTTP/1.1\r\nHost: 127"}) {
    CAPTURE(begun);
    auto client = on.connect();
    client.send(begun);
    CHECK(client.read_all().empty());
  }
}

TEST_CASE("a client that sends a byte now and then gets no more time") {
  const running_server on({.request = 100ms});
  auto client = on.connect();
  const auto give_up = std::chrono::steady_clock::now() + 60s;
  while (client.send("x") && std::chrono::steady_clock::now() < give_up) std::this_thread::sleep_for(5ms);
  CHECK(std::chrono::steady_clock::now() < give_up);
  CHECK(client.read_all().empty());
}

TEST_CASE("a connection without a further request is closed") {
  const running_server on({.idle = 100ms});
  auto client = on.connect();
  CHECK(client.get("/a").status == 200);
  CHECK(client.read_all().empty());
}

TEST_CASE("a client that does not read its answer is closed, and others are served meanwhile") {
  const running_server on({.write = 300ms});
  auto lazy = on.connect();
  lazy.send(std::string("GET /large HTTP/1.1\r\n") + host + "\r\n");
  auto other = on.connect();
  CHECK(other.get("/a").status == 200);
  std::this_thread::sleep_for(600ms);  // the limit itself is what is waited for
  CHECK(lazy.read_all().size() < 64'000'000);
}

TEST_CASE("connections beyond the limit are refused until one is closed") {
  const running_server on({.connections = 2});
  auto first = on.connect();
  auto second = std::make_unique<http_client>(on.connect());
  CHECK(first.get("/a").status == 200);
  CHECK(second->get("/a").status == 200);
  CHECK(on.connect().read_answer().status == 503);
  second.reset();
  const auto give_up = std::chrono::steady_clock::now() + 60s;
  int status = 503;
  while (status == 503 && std::chrono::steady_clock::now() < give_up) {
    auto next = on.connect();
    next.send(std::string("GET /a HTTP/1.1\r\n") + host + "\r\n");
    try {
      status = next.read_answer().status;
    } catch (const std::runtime_error&) {  // the refusal was overtaken by the close
    }
  }
  CHECK(status == 200);
}

TEST_CASE("clients that come and go leave nothing that keeps the server from stopping") {
  const running_server on;
  std::vector<http_client> kept;
  for (int i = 0; i < 20; ++i) {
    kept.push_back(on.connect());
    if (i % 3 == 0) kept.back().send("GET /");
    if (i % 3 == 1) CHECK(kept.back().get("/a").status == 200);
  }
}

}  // namespace http_server_test
