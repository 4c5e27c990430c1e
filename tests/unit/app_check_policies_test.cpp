// app_check_policies_test: what check makes of the management API's answers, good and bad. The answers
// are those of RabbitMQ 3.10.8, shortened.
#include <doctest/doctest.h>

#include <fmt/format.h>

#include "app/check/checks.hpp"
#include "app/check/management_api.hpp"
#include "app/check/policy_judge.hpp"
#include "canned_server.hpp"

namespace app_check_policies_test {

using namespace outboxd;
using namespace outboxd::app;
using namespace outboxd::app::check;
using namespace std::chrono_literals;
using nlohmann::json;
using outboxd::test::canned_server;
using outboxd::test::http_text;

namespace {

constexpr auto overview = R"({"rabbitmq_version":"3.10.8"})";
constexpr auto not_found = R"({"error":"Object Not Found","reason":"Not Found"})";

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

// Of a settings file with this broker.
findings policies(const canned_server& of, const std::string& login = "doctor:s3cret@",
                  const std::string& vhost = "a%20b") {
  raw_settings raw;
  raw["amqp.url"] = {"amqp://relay:pa55@127.0.0.1:1/" + vhost, ""};
  raw["amqp.management_url"] = {fmt::format("http://{}127.0.0.1:{}/", login, of.port()), ""};
  const auto from = read_settings(raw);
  REQUIRE(from.has_value());
  return check_policies(*from, {"out/box"});
}

// Answers by the path, without what is behind '?'; everything else is not there.
canned_server::script broker(std::map<std::string, std::string> pages) {
  return [pages = std::move(pages)](const std::string& asked) -> std::optional<std::string> {
    const auto begin = asked.find(' ') + 1;
    const auto found = pages.find(asked.substr(begin, asked.find_first_of("? ", begin) - begin));
    if (asked.starts_with("GET /api/overview?")) return http_text(200, overview);
    return found != pages.end() ? http_text(200, found->second) : http_text(404, not_found);
  };
}

queue_fate fate_of(const char* text, int major) {
  return judge_queue(json::parse(text), major);
}

}  // namespace

TEST_CASE("a quorum queue with a limit and no dead letter exchange drops what comes back") {
  const auto by_argument =
      fate_of(R"({"type":"quorum","arguments":{"x-queue-type":"quorum","x-delivery-limit":5},)"
              R"("effective_policy_definition":{},"policy":null})",
              3);
  CHECK(by_argument == queue_fate{fate::dropped, true, 5, ""});
  const auto by_policy = fate_of(
      R"({"type":"quorum","arguments":{},"effective_policy_definition":{"delivery-limit":3},"policy":"p"})",
      3);
  CHECK(by_policy == queue_fate{fate::dropped, true, 3, "p"});
  const auto lower = fate_of(R"({"type":"quorum","arguments":{"x-delivery-limit":5},)"
                             R"("effective_policy_definition":{"delivery-limit":3}})",
                             3);
  CHECK(lower.limit == 3);
  CHECK(fate_of(R"({"type":"quorum","arguments":{"x-delivery-limit":0},"effective_policy_definition":{}})",
                3) == queue_fate{fate::dropped, true, 0, ""});
}

TEST_CASE("without a limit it depends on the version: RabbitMQ 4 has 20, unless it is switched off") {
  constexpr auto plain = R"({"type":"quorum","arguments":{},"effective_policy_definition":[]})";
  CHECK(fate_of(plain, 3).what == fate::kept);
  CHECK(fate_of(plain, 4) == queue_fate{fate::dropped, true, 20, ""});
  CHECK(fate_of(plain, 5).limit == 20);
  CHECK(
      fate_of(R"({"type":"quorum","arguments":{"x-delivery-limit":-1},"effective_policy_definition":{}})", 4)
          .what == fate::kept);
  CHECK(fate_of(R"({"type":"quorum","arguments":{"x-delivery-limit":-1},)"
                R"("effective_policy_definition":{"delivery-limit":9}})",
                4)
            .limit == 9);
  CHECK(
      fate_of(
          R"({"type":"quorum","arguments":{},"effective_policy_definition":{},"delivery_limit":"unlimited"})",
          4)
          .what == fate::kept);
  CHECK(fate_of(R"({"type":"quorum","arguments":{},"effective_policy_definition":{},"delivery_limit":7})", 4)
            .limit == 7);
}

TEST_CASE("a dead letter exchange, or another type of queue, loses nothing") {
  for (const char* text :
       {R"({"type":"quorum","arguments":{"x-delivery-limit":5,"x-dead-letter-exchange":"d"}})",
        R"({"type":"quorum","arguments":{},)"
        R"("effective_policy_definition":{"delivery-limit":3,"dead-letter-exchange":""}})"})
    CHECK(fate_of(text, 4).what == fate::dead_lettered);
  for (const char* text : {R"({"type":"classic","arguments":{"x-delivery-limit":5}})",
                           R"({"type":"stream","arguments":{}})", R"({"arguments":{}})", "[]", "7", "{}"}) {
    CAPTURE(text);
    CHECK(fate_of(text, 4) == queue_fate{});
  }
}

TEST_CASE("of a queue whose policy is not told yet nothing is claimed") {
  for (const char* text : {R"({"type":"quorum","arguments":{}})",
                           R"({"arguments":{"x-queue-type":"quorum","x-delivery-limit":5}})"})
    CHECK(fate_of(text, 4).what == fate::untold);
}

TEST_CASE(
    "an alternate exchange and a queue that drops are warnings with remedies, and the login is as given") {
  const std::string exchange = "/api/exchanges/a%20b/out%2Fbox";
  const canned_server server{broker(
      {{exchange, R"({"arguments":{},"name":"out/box","policy":"take all"})"},
       {"/api/policies/a%20b/take%20all", R"({"definition":{"alternate-exchange":"bin"},"name":"take all"})"},
       {exchange + "/bindings/source",
        R"([{"destination":"q1","destination_type":"queue"},{"destination":"q1","destination_type":"queue"},
            {"destination":"gone","destination_type":"queue"},)"
        R"({"destination":"e","destination_type":"exchange"},
            {"destination":"q\n2","destination_type":"queue"}])"},
       {"/api/queues/a%20b/q1", R"({"type":"quorum","name":"q1","arguments":{},"policy":"p",)"
                                R"("effective_policy_definition":{"delivery-limit":3}})"},
       {"/api/queues/a%20b/q%0A2", R"({"type":"quorum","name":"q","arguments":{"x-delivery-limit":9},)"
                                   R"("effective_policy_definition":{}})"}})};
  const auto found = policies(server);
  REQUIRE(found.size() == 2);
  CHECK(found[0].how == check::verdict::warning);
  CHECK_MESSAGE(has(found[0].words, R"("out/box": has the alternate exchange "bin" (policy "take all"))"),
                found[0].words);
  CHECK(found[0].remedy ==
        "rabbitmqctl clear_policy -p 'a b' 'take all'  # or set it without alternate-exchange");
  CHECK(found[1].how == check::verdict::warning);
  CHECK_MESSAGE(has(found[1].words, R"("q\n2" after 9, "q1" after 3)"), found[1].words);
  CHECK(has(found[1].remedy, "rabbitmqctl set_policy -p 'a b' --apply-to queues"));
  for (const auto& asked : server.asked()) {
    CHECK(has(asked, "Authorization: Basic ZG9jdG9yOnMzY3JldA=="));  // doctor:s3cret
    CHECK(has(asked, fmt::format("Host: 127.0.0.1:{}\r\n", server.port())));
  }
}

TEST_CASE("an exchange and queues with nothing of the kind are sound, asked for with the login of amqp.url") {
  const std::string exchange = "/api/exchanges/%2F/out%2Fbox";
  const canned_server server{
      broker({{exchange, R"({"arguments":{},"name":"out/box"})"},
              {exchange + "/bindings/source", R"([{"destination":"q","destination_type":"queue"}])"},
              {"/api/queues/%2F/q", R"({"type":"classic","name":"q","arguments":{}})"}})};
  const auto found = policies(server, "", "%2F");
  REQUIRE(found.size() == 2);
  CHECK_MESSAGE(found[0].how == check::verdict::ok, found[0].words);
  CHECK_MESSAGE(found[1].how == check::verdict::ok, found[1].words);
  CHECK(has(found[1].words, "1 queues bound to it, 0 of them quorum queues"));
  CHECK(has(server.asked().front(), "Authorization: Basic cmVsYXk6cGE1NQ=="));  // relay:pa55
}

TEST_CASE("of many queues the first hundred are looked at, and that is said") {
  auto bindings = json::array();
  for (int i = 0; i < 250; ++i)
    bindings.push_back({{"destination", fmt::format("q{:03}", i)}, {"destination_type", "queue"}});
  const canned_server server{[&](const std::string& asked) -> std::optional<std::string> {
    if (has(asked, "/overview")) return http_text(200, overview);
    if (has(asked, "/bindings/")) return http_text(200, bindings.dump());
    return http_text(200, R"({"type":"classic","arguments":{}})");
  }};
  const auto found = policies(server);
  REQUIRE(found.size() == 2);
  CHECK_MESSAGE(has(found[1].words, "250 queues bound to it (100 looked at)"), found[1].words);
  CHECK(server.asked().size() == 103);
}

TEST_CASE("an API that refuses, is another one, or says nonsense is one warning, without a password") {
  struct bad {
    std::string answer;
    std::string words;
    std::string remedy;
  };
  const std::string nested(500'000, '[');
  for (const auto& [answer, words, remedy] :
       {bad{http_text(401, R"({"error":"not_authorized","reason":"Login failed"})"),
            "answers 401: \"Login failed\"", "rabbitmqctl authenticate_user doctor"},
        bad{http_text(401, R"({"error":"not_authorized","reason":"Not_Authorized"})"),
            "answers 401: \"Not_Authorized\"", "rabbitmqctl authenticate_user doctor"},
        bad{http_text(401, R"({"error":"not_authorised","reason":"Not management user"})"),
            "Not management user", "rabbitmqctl set_user_tags doctor management"},
        bad{http_text(403, ""), "answers 403", "authenticate_user"},
        bad{http_text(500, "oops"), "answers 500", "rabbitmq_management"},
        bad{http_text(302, ""), "answers 302", "rabbitmq_management"},
        bad{http_text(404, "<html>"), "answers 404", "rabbitmq_management"},
        bad{http_text(404, not_found), "does not answer as RabbitMQ", "rabbitmq_management"},
        bad{http_text(200, "{\"rabbitmq_version\":"), "does not answer with JSON", "rabbitmq_management"},
        bad{http_text(200, nested), "does not answer with JSON", "rabbitmq_management"},
        bad{http_text(200, "null"), "does not answer with JSON", "rabbitmq_management"},
        bad{http_text(200, R"({"rabbitmq_version":7})"), "does not answer as RabbitMQ",
            "rabbitmq_management"},
        bad{http_text(200, R"([{"rabbitmq_version":"x"}])"), "does not answer as RabbitMQ",
            "rabbitmq_management"},
        bad{http_text(200, std::string(2'000'000, 'x')), "longer than 1048576 bytes", "rabbitmq_management"},
        bad{"HTTP/1.1 200 OK\r\n\r\n" + std::string(2'000'000, 'x'), "longer than 1048576 bytes", ""},
        bad{"HTTP/1.1 200 OK\r\nX: " + std::string(200'000, 'x'), "longer than", ""},
        bad{"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{}", "ended before the answer did", ""},
        bad{"220 mail.example ESMTP\r\n\r\n", "no HTTP", ""}, bad{"", "ended before the answer did", ""}}) {
    CAPTURE(words);
    const canned_server server{[said = answer](const std::string&) { return std::optional(said); }};
    const auto found = policies(server);
    REQUIRE(found.size() == 1);
    CHECK(found[0].how == check::verdict::warning);
    CHECK_MESSAGE(has(found[0].words, words), found[0].words);
    CHECK_MESSAGE(has(found[0].remedy, remedy), found[0].remedy);
    for (const auto& text : {found[0].words, found[0].remedy}) CHECK_FALSE(has(text, "s3cret"));
  }
}

TEST_CASE("members of other types than RabbitMQ's break nothing") {
  for (const std::string body :
       {"[]", "7", R"({"arguments":7,"policy":[],"effective_policy_definition":"x"})",
        R"([{"destination":7,"destination_type":"queue"},8,{"destination_type":[]}])"}) {
    const canned_server server{[&](const std::string& asked) -> std::optional<std::string> {
      return http_text(200, has(asked, "/overview") ? overview : body);
    }};
    CAPTURE(body);
    for (const auto& one : policies(server)) CHECK_MESSAGE(one.how == check::verdict::ok, one.words);
  }
}

TEST_CASE("an API that is silent is given up in time, and not asked again when the time is over") {
  const canned_server server{[](const std::string&) { return std::optional<std::string>(); }};
  const management_api api({{}, false, "127.0.0.1", server.port(), ""}, {"u", "s3cret"}, {}, 100ms);
  const auto first = api.get("/api/overview");
  REQUIRE_FALSE(first.has_value());
  CHECK(first.error().how == check::verdict::warning);
  CHECK_MESSAGE(has(first.error().words, "does not answer within"), first.error().words);
  const auto second = api.get("/api/overview");
  REQUIRE_FALSE(second.has_value());
  CHECK_MESSAGE(has(second.error().words, "too slow"), second.error().words);
  CHECK(server.asked().size() <= 1);
}

TEST_CASE("without amqp.management_url it is not checked, and nobody is asked") {
  const auto found = check_policies(*read_settings({}), {"outbox"});
  REQUIRE(found.size() == 1);
  CHECK(found[0].how == check::verdict::not_checked);
  CHECK(has(found[0].words, "amqp.management_url is not set"));
}

}  // namespace app_check_policies_test
