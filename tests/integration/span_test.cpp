// span_test: with otlp.endpoint each published event of a sampled trace is a span, which its message names;
// and whatever the collector does, events go out.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "asked_relay.hpp"
#include "stage.hpp"
#include "support/certificates.hpp"
#include "support/fake_collector.hpp"
#include "support/tls_listener.hpp"

namespace outboxd::test::span_test {
namespace {

using way = fake_collector::way;

const std::string trace_id = "4bf92f3577b34da6a3ce929d0e0e4736";
const std::string writer = "00f067aa0ba902b7";

std::string traceparent(const std::string& flags) {
  return "00-" + trace_id + "-" + writer + "-" + flags;
}

void add_event(const stage& on, const std::string& headers, const std::string& aggregate = "42") {
  on.connect().exec(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload, headers)"
      " VALUES ('order', $1, $2, '{\"card\": \"canary-payload\"}', $3)",
      {aggregate, on.key(), headers});
}

std::string sampled() {
  return R"({"token": "canary-header", "traceparent": ")" + traceparent("01") + R"("})";
}

arguments spans_to(const fake_collector& collector) {
  return {"--otlp-endpoint", collector.url()};
}

double spans(const asked_relay& of, const std::string& result) {
  return metric(of, "outboxd_otlp_spans_total{result=\"" + result + "\"}");
}

std::string attribute(const nlohmann::json& span, const std::string& key) {
  for (const auto& one : span.at("attributes"))
    if (one.at("key") == key) return one.at("value").begin()->get<std::string>();
  return {};
}

delivery next_of(const stage& on) {
  consumer from{on.queue()};
  return from.take(1).front();
}

}  // namespace

TEST_CASE("the message of a sampled trace names the span that the collector gets") {
  const stage on;
  const fake_collector collector;
  add_event(on, sampled());
  auto session = on.connect();
  const auto row =
      session.exec("SELECT id, seq, (extract(epoch FROM created_at) * 1000000)::bigint FROM outbox.event");
  relay running{on, spans_to(collector)};
  const auto message = next_of(on);
  running.stop();
  const auto all = collector.spans();
  REQUIRE(all.size() == 1);
  const auto& span = all[0];
  CHECK(span.at("traceId") == trace_id);
  CHECK(span.at("parentSpanId") == writer);
  CHECK(message.properties.headers.at("traceparent") ==
        "00-" + trace_id + "-" + span.at("spanId").get<std::string>() + "-01");
  CHECK(message.properties.headers.at("token") == "canary-header");
  CHECK(span.at("name") == "send outbox:" + on.key());
  CHECK(span.at("startTimeUnixNano") == *row[0][2] + "000");
  CHECK(std::stoll(span.at("endTimeUnixNano").get<std::string>()) >= std::stoll(*row[0][2]) * 1000);
  CHECK(attribute(span, "messaging.message.id") == *row[0][0]);
  CHECK(attribute(span, "messaging.rabbitmq.destination.routing_key") == on.key());
  CHECK(attribute(span, "outboxd.seq") == *row[0][1]);
  CHECK(attribute(span, "outboxd.attempts") == "0");
  CHECK(span.dump().find("canary") == std::string::npos);
  CHECK(collector.complaints().empty());
}

TEST_CASE("an event that is not of a sampled trace is no span, and keeps its header") {
  const stage on;
  const fake_collector collector;
  const std::vector<std::string> headers{"{}", R"({"traceparent": ")" + traceparent("00") + R"("})",
                                         R"({"traceparent": "01"})"};
  for (const auto& one : headers) add_event(on, one);
  relay running{on, spans_to(collector)};
  consumer from{on.queue()};
  const auto got = from.take(headers.size());
  running.stop();
  CHECK_FALSE(got[0].properties.headers.contains("traceparent"));
  CHECK(got[1].properties.headers.at("traceparent") == traceparent("00"));
  CHECK(got[2].properties.headers.at("traceparent") == "01");
  CHECK(collector.requests() == 0);
}

TEST_CASE("without otlp.endpoint a sampled traceparent leaves as it is, and there is no metric of spans") {
  const stage on;
  add_event(on, sampled());
  asked_relay running{on};
  CHECK(next_of(on).properties.headers.at("traceparent") == traceparent("01"));
  CHECK(running.get("/metrics").body.find("otlp") == std::string::npos);
  running.stop();
}

TEST_CASE("an event that is sent again has the same span id, from whichever relay") {
  const stage on;
  const fake_collector collector;
  add_event(on, sampled());
  const auto publish_once = [&] {
    relay running{on, spans_to(collector)};
    auto out = next_of(on);
    running.stop();
    return out;
  };
  const auto first = publish_once();
  on.connect().exec("UPDATE outbox.event SET status = 'pending', published_at = NULL");
  const auto second = publish_once();
  CHECK(first.properties == second.properties);
  const auto all = collector.spans();
  REQUIRE(all.size() == 2);
  CHECK(all[0].at("spanId") == all[1].at("spanId"));
}

TEST_CASE("an event that failed before has its attempts and its time in the outbox in its span") {
  const stage on;
  const fake_collector collector;
  on.connect().exec(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload, headers, attempts,"
      " created_at) VALUES ('order', '42', $1, '{}', $2, 3, now() - interval '1 hour')",
      {on.key(), sampled()});
  relay running{on, spans_to(collector)};
  next_of(on);
  running.stop();
  const auto all = collector.spans();
  REQUIRE(all.size() == 1);
  CHECK(attribute(all[0], "outboxd.attempts") == "3");
  for (const auto& one : all[0].at("attributes"))
    if (one.at("key") == "outboxd.outbox_seconds") CHECK(one.at("value").at("doubleValue") >= 3'600);
}

TEST_CASE("sent and refused spans are counted") {
  const stage on;
  fake_collector collector;
  asked_relay running{on, spans_to(collector)};
  add_event(on, sampled());
  eventually("a span is sent", [&] { return spans(running, "sent") == 1; });
  collector.behave(way::answers_500);
  add_event(on, sampled());
  eventually("a span is refused", [&] { return spans(running, "refused") == 1; });
  running.wait_line("spans do not reach " + collector.url() + ": it answers 500: out of order", time_limit);
  CHECK(spans(running, "no_room") == 0);
  CHECK(spans(running, "unsent") == 0);
  running.stop();
}

TEST_CASE("a collector that is away, silent or lying keeps no event and no stop waiting") {
  for (const auto how : {way::hangs_up, way::stays_silent, way::answers_for_ever, way::answers_503,
                         way::answers_500, way::talks_nonsense}) {
    CAPTURE(static_cast<int>(how));
    const stage on;
    const fake_collector collector(how);
    relay running{on, spans_to(collector)};
    add_event(on, sampled());
    on.await_published(1);
    eventually("the collector has a request", [&] { return collector.requests() > 0; });
    for (int i = 0; i < 100; ++i) add_event(on, sampled(), std::to_string(i));
    on.await_published(101);
    running.stop();
    if (how != way::answers_500) running.wait_line(" spans were not sent to " + collector.url(), time_limit);
  }
}

TEST_CASE("events go out and a relay stops although no collector is there") {
  for (const char* const url : {"http://127.0.0.1:1", "http://no-such-host.invalid", "https://127.0.0.1:1"}) {
    CAPTURE(url);
    const stage on;
    relay running{on, {"--otlp-endpoint", url}};
    add_event(on, sampled());
    on.await_published(1);
    running.wait_line("spans do not reach " + std::string(url), time_limit);
    add_event(on, sampled());
    on.await_published(2);
    running.stop();
  }
}

TEST_CASE("a collector behind https needs a certificate of a CA that the system trusts, for its host") {
  certificate_authority authority("outboxd-spans");
  const tls_listener trusted(authority, authority.issue());
  const tls_listener elsewhere(authority, authority.issue({.hosts = {"DNS:elsewhere.example"}}));
  const auto words = [](const tls_listener& at, const environment& variables) {
    const stage on;
    const auto url = fmt::format("https://localhost:{}", at.port());
    relay running{on, {"--otlp-endpoint", url}, variables};
    add_event(on, sampled());
    auto out = running.wait_line("spans do not reach " + url, time_limit);
    on.await_published(1);
    running.stop();
    return out;
  };
  const environment trusting{{"SSL_CERT_FILE", authority.file()}};
  // RabbitMQ hears the request and speaks AMQP: TLS is good.
  CHECK(words(trusted, trusting).find("no HTTP") != std::string::npos);
  CHECK(words(trusted, {}).find("certificate verify failed") != std::string::npos);
  CHECK(words(elsewhere, trusting).find("certificate verify failed") != std::string::npos);
}

TEST_CASE(
    "an endpoint that is no URL, or has a password, is refused with its key, and no password is shown") {
  const auto refused = [](const std::string& url) {
    const auto out =
        run_outboxd({"run", "--otlp-endpoint", url}, {{"OUTBOXD_DATABASE_URL", "postgresql://x"}});
    CHECK(out.exited(2));
    CHECK(out.says("otlp.endpoint (flag --otlp-endpoint)"));
    CHECK_FALSE(out.says("s3cret"));
    return out;
  };
  CHECK(refused("collector:4318").says("the URL must look like"));
  CHECK(refused("http://me:s3cret@collector").says("has a user or password"));
}

}  // namespace outboxd::test::span_test
