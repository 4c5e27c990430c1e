// http_server_post_test: bodies, headers, and answers that take their time.
#include <doctest/doctest.h>

#include <atomic>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include "http/as_result.hpp"
#include "running_http_server.hpp"

namespace http_server_post_test {

using namespace outboxd::http;
using namespace std::chrono_literals;
using outboxd::test::running_http_server;

namespace {

response told(std::string words) {
  return {200, "text/plain", std::move(words)};
}

response echo(const request& asked) {
  if (asked.target == "/peer") return told(std::string(asked.peer));
  if (asked.target == "/header") return told(std::string(asked.header("X-Mine").value_or("none")));
  response out = told(std::string(asked.method) + ":" + std::string(asked.body));
  out.headers.emplace_back("Content-Security-Policy", "default-src 'none'");
  out.headers.emplace_back("Cache-Control", "no-cache");
  return out;
}

const limits with_posts{.body_bytes = 10};

std::string post(std::string_view rest) {
  return "POST /a HTTP/1.1\r\nHost: 127.0.0.1\r\n" + std::string(rest);
}

}  // namespace

TEST_CASE("a body arrives whole, in however many pieces, and the connection serves further requests") {
  const running_http_server on(answers_at_once(echo), with_posts);
  auto client = on.connect();
  client.send(post("Content-Length: 10\r\n\r\n01234"));
  client.send("56789");
  CHECK(client.read_answer().body == "POST:0123456789");
  client.send(post("Content-Length: 0\r\n\r\n"));
  CHECK(client.read_answer().body == "POST:");
  client.send(post("Content-Length: 2\r\n\r\nab") + post("Content-Length: 2\r\n\r\ncd"));
  CHECK(client.read_answer().body == "POST:ab");
  CHECK(client.read_answer().body == "POST:cd");
  CHECK(client.get("/b").body == "GET:");
}

TEST_CASE("a body that is too long, or does not say how long it is, is refused unread") {
  const running_http_server on(answers_at_once(echo), with_posts);
  CHECK(on.last_answer(post("Content-Length: 11\r\n\r\n")).status == 413);
  CHECK(on.last_answer(post("Content-Length: 18446744073709551615\r\n\r\n")).status == 413);
  CHECK(on.last_answer(post("Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n")).status == 411);
  CHECK(on.last_answer(post("\r\n")).status == 411);
  CHECK(on.last_answer(post("Content-Length: 1\r\nContent-Length: 2\r\n\r\nab")).status == 400);
  const auto get = std::string("GET /a HTTP/1.1\r\nHost: 127.0.0.1\r\n");
  CHECK(on.last_answer(get + "Content-Length: 3\r\n\r\nabc").status == 413);
}

TEST_CASE("other methods are refused, with POST among those that are allowed") {
  const running_http_server on(answers_at_once(echo), with_posts);
  const auto answer = on.last_answer("PUT /a HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 2\r\n\r\nxx");
  CHECK(answer.status == 405);
  CHECK(answer.has("Allow: GET, HEAD, POST\r\n"));
}

TEST_CASE("a body that does not come in time closes the connection") {
  const running_http_server on(answers_at_once(echo), {.body_bytes = 10, .request = 100ms});
  auto client = on.connect();
  client.send(post("Content-Length: 10\r\n\r\n01"));
  CHECK(client.read_all().empty());
}

TEST_CASE("a handler sees the headers and the peer, and a header that comes twice counts as none") {
  const running_http_server on(answers_at_once(echo));
  auto client = on.connect();
  CHECK(client.get("/peer").body == "127.0.0.1");
  const auto with = [&](std::string_view headers) {
    client.send("GET /header HTTP/1.1\r\nHost: 127.0.0.1\r\n" + std::string(headers) + "\r\n");
    return client.read_answer().body;
  };
  CHECK(with("x-mine: a\r\n") == "a");
  CHECK(with("X-Mine: a\r\nx-MINE: b\r\n") == "none");
  CHECK(with("X-Mines: a\r\n") == "none");
}

TEST_CASE("a handler's headers are sent, and take the place of the server's own") {
  const running_http_server on(answers_at_once(echo));
  auto client = on.connect();
  const auto answer = client.get("/a");
  CHECK(answer.has("Content-Security-Policy: default-src 'none'\r\n"));
  CHECK(answer.has("Cache-Control: no-cache\r\n"));
  CHECK_FALSE(answer.has("no-store"));
  CHECK(answer.has("X-Content-Type-Options: nosniff\r\n"));
}

TEST_CASE("while an answer takes its time, others are answered") {
  std::atomic<bool> asked_to_wait = false;
  std::atomic<bool> opened = false;
  const auto until = [](const std::atomic<bool>& so) -> boost::asio::awaitable<void> {
    boost::asio::steady_timer turn(co_await boost::asio::this_coro::executor);
    while (!so) {
      turn.expires_after(1ms);
      co_await turn.async_wait(as_result);
    }
  };
  const later_handler slow = [&](const request& asked) -> boost::asio::awaitable<response> {
    if (asked.target == "/wait") {
      asked_to_wait = true;
      co_await until(opened);
    } else if (asked.target == "/open") {
      co_await until(asked_to_wait);
      opened = true;
    }
    co_return told(std::string(asked.target));
  };
  const running_http_server on(slow);
  auto waits = on.connect();
  waits.send("GET /wait HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\nGET /behind HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
  CHECK(on.connect().get("/open").body == "/open");
  CHECK(waits.read_answer().body == "/wait");
  CHECK(waits.read_answer().body == "/behind");
}

TEST_CASE("a handler that has no answer in time loses its client") {
  const later_handler never = [](const request&) -> boost::asio::awaitable<response> {
    boost::asio::steady_timer timer(co_await boost::asio::this_coro::executor, 500ms);
    co_await timer.async_wait(as_result);
    co_return told("late");
  };
  const running_http_server on(never, {.answer = 100ms});
  auto client = on.connect();
  client.send("GET /a HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
  CHECK(client.read_all().empty());
}

}  // namespace http_server_post_test
