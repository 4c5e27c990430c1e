// otlp_collector_answer_test: what a collector's status and words mean for the spans.
#include "otlp/collector_answer.hpp"

#include <doctest/doctest.h>

namespace otlp_collector_answer_test {

using namespace outboxd;
using namespace outboxd::otlp;

namespace {

collector_answer judged(int status, std::string body = {}, std::string retry_after = {}) {
  return judge({.status = status, .body = std::move(body), .retry_after = std::move(retry_after)}, 10);
}

}  // namespace

TEST_CASE("a collector that answers 200 has taken all spans, whatever its body") {
  for (const char* const body : {"", "{}", R"({"partialSuccess":{}})", R"({"partialSuccess":null})", "[1]",
                                 "<html>", R"({"partialSuccess":{"errorMessage":"a hint"}})"}) {
    CAPTURE(body);
    const auto got = judged(200, body);
    CHECK(got.what == collector_verdict::taken);
    CHECK(got.refused == 0);
    CHECK(got.words.empty());
  }
}

TEST_CASE("of a partial success the number of refused spans counts, and no more than were sent") {
  const auto refused = [](const std::string& number) {
    return judged(200, R"({"partialSuccess":{"rejectedSpans":)" + number + R"(,"errorMessage":"too old"}})");
  };
  CHECK(refused("\"3\"").refused == 3);
  CHECK(refused("3").refused == 3);
  CHECK(refused("3").words == "it refused 3 of 10 spans: too old");
  CHECK(refused("\"99999999999\"").refused == 10);
  CHECK(refused("-1").refused == 0);
  CHECK(refused("\"many\"").refused == 0);
  CHECK(refused("18446744073709551615").refused <= 10);
  CHECK(refused("1.5").refused == 0);
}

TEST_CASE("four statuses ask for another try, all others refuse the spans for good") {
  for (const int status : {429, 502, 503, 504}) CHECK(judged(status).what == collector_verdict::later);
  for (const int status : {100, 301, 400, 401, 404, 413, 500, 501, 505, 599})
    CHECK(judged(status).what == collector_verdict::refused);
  CHECK(judged(500, R"({"code":13,"message":"out of order"})").words == "it answers 500: out of order");
  CHECK(judged(404, "<html>").words == "it answers 404");
}

TEST_CASE("a collector's words cannot pretend to be lines of the log, and are cut") {
  CHECK(judged(400, R"({"message":"a\nb"})").words == R"(it answers 400: a\nb)");
  CHECK(judged(400, R"({"message":")" + std::string(10'000, 'x') + R"("})").words.size() < 300);
}

TEST_CASE("a collector says in seconds when to try again") {
  CHECK(judged(503, {}, "7").wait == std::chrono::seconds(7));
  CHECK(judged(429, {}, "0").wait == std::chrono::seconds(0));
  CHECK_FALSE(judged(503).wait);
  CHECK_FALSE(judged(503, {}, "Fri, 31 Dec 1999 23:59:59 GMT").wait);
  CHECK_FALSE(judged(503, {}, "-7").wait);
  CHECK_FALSE(judged(500, {}, "7").wait);
}

}  // namespace otlp_collector_answer_test
