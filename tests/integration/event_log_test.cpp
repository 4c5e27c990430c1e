// event_log_test: at log.level = debug each step of an event is a line, with the trace that the event belongs
// to.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "stage.hpp"

namespace outboxd::test::event_log_test {
namespace {

const std::string trace_id = "4bf92f3577b34da6a3ce929d0e0e4736";

// Returns its id.
std::string add_event(const stage& on, const std::string& traceparent) {
  auto session = on.connect();
  const std::string id = "00000000-0000-4000-8000-000000000042";
  session.exec(
      "INSERT INTO outbox.event (id, aggregate_type, aggregate_id, event_type, payload, headers)"
      " VALUES ($1, 'order', '42', $2, '{\"card\": \"canary-payload\"}', $3)",
      {id, on.key(), R"({"token": "canary-header", "traceparent": ")" + traceparent + R"("})"});
  return id;
}

// All lines of a relay that has published everything there is.
std::vector<std::string> lines_of_relay(const stage& on, const arguments& flags) {
  relay running{on, flags};
  on.await_drained();
  running.stop();
  auto out = running.all_lines();
  for (const std::string& line : out) CHECK_MESSAGE(line.find("canary") == std::string::npos, line);
  return out;
}

}  // namespace

TEST_CASE("at level debug the log has a line for each step of an event, in their order, with its trace id") {
  const stage on;
  const auto id = add_event(on, "00-" + trace_id + "-00f067aa0ba902b7-01");
  const auto seq = on.connect().value("SELECT seq FROM outbox.event");
  std::string steps;
  for (const std::string& line : lines_of_relay(on, {"--log-level", "debug"})) {
    const auto at = line.find("event " + id + " ");
    if (at == std::string::npos) continue;
    CHECK_MESSAGE(line.find(" debug ") != std::string::npos, line);
    CHECK_MESSAGE(line.find(" trace_id=" + trace_id + " ") != std::string::npos, line);
    CHECK_MESSAGE(line.find(" seq=" + seq + " ") != std::string::npos, line);
    CHECK_MESSAGE(line.find(" aggregate=order/42 ") != std::string::npos, line);
    CHECK_MESSAGE(line.find(" routing_key=" + on.key()) != std::string::npos, line);
    steps += line.substr(at + 6 + id.size() + 1, line.find(':', at) - at - 6 - id.size() - 1) + " ";
    CHECK((line.find(" lane=") != std::string::npos) == (steps != "read "));
  }
  CHECK(steps == "read sent acked marked ");
}

TEST_CASE("in JSON the fields of a step have the names of OpenTelemetry's messaging conventions") {
  const stage on;
  const auto id = add_event(on, "00-" + trace_id + "-00f067aa0ba902b7-01");
  const auto seq = on.connect().number("SELECT seq FROM outbox.event");
  std::string operations;
  for (const std::string& line : lines_of_relay(on, {"--log-level", "debug", "--log-format", "json"})) {
    const auto got = nlohmann::json::parse(line);
    if (got.value("messaging.message.id", "") != id) continue;
    CAPTURE(line);
    CHECK(got.at("level") == "debug");
    CHECK(got.at("messaging.system") == "rabbitmq");
    CHECK(got.at("messaging.destination.name") == "outbox:" + on.key());
    CHECK(got.at("messaging.rabbitmq.destination.routing_key") == on.key());
    CHECK(got.at("outboxd.seq") == seq);
    CHECK(got.at("outboxd.aggregate_type") == "order");
    CHECK(got.at("outboxd.aggregate_id") == "42");
    CHECK(got.at("trace_id") == trace_id);
    operations += got.at("messaging.operation.name").get<std::string>() + " ";
    CHECK(got.contains("outboxd.lane") == (operations != "read "));
    CHECK(got.contains("messaging.operation.type") == operations.ends_with("send "));
  }
  CHECK(operations == "read send ack mark ");
}

TEST_CASE("an event whose traceparent is not valid has no trace id in the log, and goes out") {
  const stage on;
  const auto id = add_event(on, "00-" + trace_id + "-0000000000000000-01");
  int steps = 0;
  for (const std::string& line : lines_of_relay(on, {"--log-level", "debug"})) {
    CHECK_MESSAGE(line.find(trace_id) == std::string::npos, line);
    if (line.find("event " + id) != std::string::npos) ++steps;
  }
  CHECK(steps == 4);
}

TEST_CASE("an event that comes back is said to wait with its trace id and the class of its failure") {
  const stage on;
  auto session = on.connect();
  session.exec(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload, headers)"
      " VALUES ('order', '42', $1, '{}', $2)",
      {"unbound-" + on.queue(), R"({"traceparent": "00-)" + trace_id + R"(-00f067aa0ba902b7-01"})"});
  relay running{on, {"--log-format", "json", "--log-level", "debug"}};
  const auto got = nlohmann::json::parse(running.wait_line("\"wait\"", time_limit));
  CHECK(got.at("level") == "debug");
  CHECK(got.at("error.type") == "returned");
  CHECK(got.at("trace_id") == trace_id);
  running.stop();
}

TEST_CASE("at level info no step of an event is in the log") {
  const stage on;
  const auto id = add_event(on, "00-" + trace_id + "-00f067aa0ba902b7-01");
  for (const std::string& line : lines_of_relay(on, {}))
    CHECK_MESSAGE(line.find(id) == std::string::npos, line);
}

TEST_CASE("a line in JSON is one even if the names that an event carries are long and odd") {
  const stage on;
  auto session = on.connect();
  session.exec(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload)"
      " VALUES (repeat(E'\\x01', 3000), repeat(E'\\n\"', 3000), $1, '{}')",
      {on.key()});
  int steps = 0;
  for (const std::string& line : lines_of_relay(on, {"--log-level", "debug", "--log-format", "json"})) {
    const auto got = nlohmann::json::parse(line, nullptr, false);
    CHECK_MESSAGE(got.is_object(), line);
    if (got.contains("messaging.message.id")) ++steps;
  }
  CHECK(steps == 4);
}

}  // namespace outboxd::test::event_log_test
