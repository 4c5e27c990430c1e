// console_page_test: the static files, what browsers are told about them, and small parts of the server.
#include <doctest/doctest.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "console/assets.hpp"
#include "console/digest.hpp"
#include "console/history.hpp"
#include "console/page.hpp"
#include "console/query.hpp"
#include "console/sessions.hpp"
#include "console/shared_answer.hpp"

namespace console_page_test {

using namespace outboxd;
using namespace outboxd::console;
using namespace std::chrono_literals;

TEST_CASE("the page is its index, each file has its type, and nothing else is there") {
  REQUIRE(file_at("/"));
  CHECK(file_at("/")->body == file_at("/index.html")->body);
  CHECK(file_at("/app.js")->content_type == "text/javascript; charset=utf-8");
  CHECK(file_at("/console.css")->content_type == "text/css; charset=utf-8");
  for (const auto* path :
       {"/nothing", "/../CMakeLists.txt", "/vendor/", "/vendor/uPlot.LICENSE", "app.js", ""})
    CHECK_FALSE(file_at(path));
}

TEST_CASE("all files together have less than 150 kB") {
  std::size_t size = 0;
  for (const asset& one : assets()) size += one.content.size();
  CHECK(size < 150'000);
}

TEST_CASE("no file asks another server for anything, has a script of its own in it, or makes HTML of texts") {
  for (const asset& one : assets()) {
    CAPTURE(one.path);
    const bool vendor = one.path.starts_with("/vendor/");
    for (const auto* word :
         {"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function"})
      CHECK(one.content.find(word) == std::string_view::npos);
    for (const auto* word : {"https://", "<script>", "style=", "onclick=", "javascript:"})
      if (!vendor) CHECK(one.content.find(word) == std::string_view::npos);
  }
}

TEST_CASE("every answer keeps the browser in bounds") {
  http::response answer;
  add_guards(answer);
  const auto policy = std::find_if(answer.headers.begin(), answer.headers.end(),
                                   [](const auto& one) { return one.first == "Content-Security-Policy"; });
  REQUIRE(policy != answer.headers.end());
  CHECK(policy->second.find("unsafe") == std::string::npos);
  CHECK(policy->second.find("default-src 'none'") == 0);
  CHECK(policy->second.find("frame-ancestors 'none'") != std::string::npos);
}

TEST_CASE("parameters of a target are decoded") {
  CHECK(path_of("/api/event?id=1") == "/api/event");
  CHECK(path_of("/api/event") == "/api/event");
  CHECK(parameter("/a?x=1&y=a%2Fb+c", "y") == "a/b c");
  CHECK(parameter("/a?x=1&x=2", "x") == "1");
  CHECK(parameter("/a?xy=1&x", "x").empty());
  CHECK(parameter("/a?x=%zz", "x").empty());
  CHECK(parameter("/a", "x").empty());
  CHECK(parameter("/a?", "x").empty());
}

TEST_CASE("base64 is decoded, and what is none is not") {
  CHECK(from_base64("YTpi") == "a:b");
  CHECK(from_base64("YTpiYw==") == "a:bc");
  CHECK(from_base64("YTpiY2Q=") == "a:bcd");
  for (const auto* wrong : {"", "YTp", "YT pi", " YTpi", "YTpi\n", "====", "=TpiYTpi", "Y===", "YT=iYTpi"})
    CHECK_FALSE(from_base64(wrong));
}

TEST_CASE("secrets are compared whole, and made anew each time") {
  CHECK(same_secret("abc", "abc"));
  CHECK_FALSE(same_secret("abc", "abd"));
  CHECK_FALSE(same_secret("abc", "abcd"));
  CHECK_FALSE(same_secret("", "abc"));
  CHECK(random_secret().size() == 64);
  CHECK(random_secret() != random_secret());
  CHECK(hexadecimal(hmac_sha256("key", "The quick brown fox jumps over the lazy dog")) ==
        "f7bc83f430538424b13298e6aa6fb143ef4d59a14946175997479dbc2d1a3cd8");
}

TEST_CASE("the session that was idle for longest makes room for a new one") {
  sessions all({.most = 2});
  const sessions::clock::time_point start(1h);
  const auto first = all.begin(level::read, "t", start);
  const auto second = all.begin(level::read, "t", start + 1s);
  CHECK(all.find(first, start + 2s));
  const auto third = all.begin(level::act, "t", start + 3s);
  CHECK(all.size() == 2);
  CHECK(all.find(first, start + 4s));
  CHECK_FALSE(all.find(second, start + 4s));
  CHECK(all.find(third, start + 4s)->may == level::act);
}

TEST_CASE("the chart has ten minutes, and begins anew when the clock is set back") {
  history all;
  const std::chrono::system_clock::time_point start(1'000'000s);
  for (int i = 0; i <= 700; ++i) all.add({.at = start + std::chrono::seconds(i)});
  CHECK(all.all().size() == 601);
  CHECK(all.all().front().at == start + 100s);
  all.add({.at = start});
  CHECK(all.all().size() == 1);
}

TEST_CASE("an answer that several ask for at once is asked for once, and a failure is not kept") {
  boost::asio::io_context io(1);
  shared_answer shared(io.get_executor());
  int asked = 0;
  bool fails = false;
  const shared_answer::asking ask = [&]() -> boost::asio::awaitable<desk::answer> {
    const int number = ++asked;
    co_await boost::asio::post(boost::asio::use_awaitable);  // the others come meanwhile
    if (fails) co_return app::run_failure("away");
    co_return nlohmann::json(number);
  };
  std::vector<desk::answer> heard;
  const auto get = [&](int times) {
    heard.clear();
    for (int i = 0; i < times; ++i)
      boost::asio::co_spawn(io, shared.get(ask),
                            [&](std::exception_ptr, desk::answer one) { heard.push_back(std::move(one)); });
    io.restart();
    io.run();
  };
  fails = true;
  get(3);
  CHECK(asked == 1);
  REQUIRE(heard.size() == 3);
  for (const auto& one : heard) CHECK_FALSE(one);
  fails = false;
  get(3);
  CHECK(asked == 2);
  REQUIRE(heard.size() == 3);
  for (const auto& one : heard) CHECK(*one == 2);
  CHECK(shared_answer::lasts(1ms, 4s) == 4s);
  CHECK(shared_answer::lasts(200ms, 4s) == 20s);
  CHECK(shared_answer::lasts(5s, 4s) == 30s);
  CHECK(shared_answer::lasts(5s, 1min) == 1min);
}

TEST_CASE("a look that costs the database much is taken the less often") {
  CHECK(pause_between_looks(3ms, true) == 2s);
  CHECK(pause_between_looks(3ms, false) == 10s);
  CHECK(pause_between_looks(100ms, true) == 5s);
  CHECK(pause_between_looks(5s, true) == 10s);
  CHECK(pause_between_looks(5s, false) == 60s);
}

}  // namespace console_page_test
