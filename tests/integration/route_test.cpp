// Routes and formats on real servers: what arrives at a consumer, field by field; what becomes of events that
// cannot take their route; and how routes change at run time.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "asked_relay.hpp"
#include "load.hpp"
#include "settings_file.hpp"

namespace outboxd::test::route_test {
namespace {

using nlohmann::json;

struct row {
  std::string event_type;
  std::string aggregate_id = "42";
  std::string headers = "{}";
  std::string payload = R"('{"total": 1.50}')";  // an SQL expression
};

// Returns the event's id.
std::string insert(const stage& on, const row& what) {
  return on.connect().value(
      fmt::format("INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload, headers)"
                  " VALUES ('order', $1, $2, {}, $3) RETURNING id",
                  what.payload),
      {what.aggregate_id, what.event_type, what.headers});
}

// The one event of a relay with these settings, as it arrived.
delivery deliver_one(const stage& on, const std::string& settings, const row& what) {
  insert(on, what);
  const settings_file file{settings};
  relay running{on, file.flags()};
  consumer reader{on.queue()};
  auto message = reader.next(time_limit);
  REQUIRE_MESSAGE(message, running.tail());
  reader.ack(*message);
  running.stop();
  return *message;
}

// A route whose messages arrive in the stage's queue.
std::string route_to(const stage& on, const std::string& more) {
  return fmt::format("[[route]]\nname = 'ours'\nrouting_key = '{}.{{event_type}}'\n{}\n", on.queue(), more);
}

// With no queue, so that it would come back if it were mandatory.
std::string route_nowhere(const std::string& more) {
  return "[[route]]\nname = 'nowhere'\nrouting_key = 'nobody'\n" + more + "\n";
}

double published(const asked_relay& of, const std::string& labels) {
  const auto body = of.get("/metrics").body;
  const auto name = "\noutboxd_events_published_total" + labels + " ";
  const auto at = body.find(name);
  return at == std::string::npos ? -1 : std::stod(body.substr(at + name.size()));
}

}  // namespace

TEST_CASE("a route's key, properties and headers arrive, and the row's own header stays") {
  const stage on;
  const auto got = deliver_one(on,
                               route_to(on,
                                        "content_type = 'application/vnd.order+json'\n"
                                        "correlation_id = '{aggregate_type}-{aggregate_id}'\n"
                                        "priority = 7\nexpiration = '1h'\npersistent = false\n"
                                        "deduplication_header = true\ncontent_encoding = 'identity'\n"
                                        "headers = { tenant = 'none', version = 3, beta = true,"
                                        " subject = '{aggregate_type}/{{{aggregate_id}}}' }"),
                               {.event_type = "paid", .headers = R"({"tenant":"acme"})"});
  CHECK(got.routing_key == on.queue() + ".paid");
  CHECK(got.exchange == "outbox");
  const auto& has = got.properties;
  CHECK(has.type == "paid");
  CHECK(has.content_type == "application/vnd.order+json");
  CHECK(has.correlation_id == "order-42");
  CHECK(has.content_encoding == "identity");
  CHECK(has.headers.at("subject") == "order/{42}");
  CHECK(has.priority == 7);
  CHECK(has.expiration == "3600000");
  CHECK(has.delivery_mode == 1);
  CHECK(has.headers["x-deduplication-header"] == got.message_id());
  CHECK(has.headers["tenant"] == "acme");
  CHECK(has.headers["version"] == 3);
  CHECK(has.headers["beta"] == true);
  CHECK(has.header_kinds.at("version") == 'l');
  CHECK(has.headers["aggregate_id"] == "42");
  CHECK(got.body == R"({"total": 1.50})");
}

TEST_CASE("an envelope arrives as one JSON object, also of a large event") {
  const stage on;
  const auto got = deliver_one(on, route_to(on, "format = 'envelope'"),
                               {.event_type = "paid",
                                .headers = R"({"schema_version":"2"})",
                                .payload = R"(json_build_object('text', repeat('x', 200000)))"});
  CHECK(got.properties.content_type == "application/json");
  const auto body = json::parse(got.body);
  CHECK(body["event_id"] == got.message_id());
  CHECK(body["event_type"] == "paid");
  CHECK(body["aggregate_type"] == "order");
  CHECK(body["aggregate_id"] == "42");
  CHECK(body["sequence"] == got.properties.headers["seq"]);
  CHECK(body["occurred_at"] == got.properties.headers["occurred_at"]);
  CHECK(body["schema_version"] == "2");
  CHECK(body["trace_id"].is_null());
  CHECK(body["data"]["text"] == std::string(200'000, 'x'));
  CHECK(body.size() == 9);
}

TEST_CASE("CloudEvents arrive in structured mode and in binary mode with the same attributes") {
  constexpr auto trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  const row what{.event_type = "paid", .headers = fmt::format(R"({{"traceparent":"{}"}})", trace)};
  const std::string settings = "[cloudevents]\nsource = '/shop'\nheader_prefix = 'ce-'\n";
  const stage on;
  const auto whole = deliver_one(on, settings + route_to(on, "format = 'cloudevents'"), what);
  CHECK(whole.properties.content_type == "application/cloudevents+json");
  CHECK(whole.properties.headers["traceparent"] == trace);
  const auto event = json::parse(whole.body);
  CHECK(event["specversion"] == "1.0");
  CHECK(event["id"] == whole.message_id());
  CHECK(event["source"] == "/shop");
  CHECK(event["type"] == "paid");
  CHECK(event["subject"] == "42");
  CHECK(event["time"] == whole.properties.headers["occurred_at"]);
  CHECK(event["datacontenttype"] == "application/json");
  CHECK(event["sequence"] == fmt::format("{:019}", whole.properties.headers["seq"].get<std::int64_t>()));
  CHECK(event["partitionkey"] == "42");
  CHECK(event["traceparent"] == trace);
  CHECK(event["data"]["total"] == 1.5);
  for (const auto& [name, value] : whole.properties.headers.items()) CHECK_FALSE(name.starts_with("ce-"));

  const auto parts = deliver_one(on, settings + route_to(on, "format = 'cloudevents-binary'"), what);
  CHECK(parts.properties.content_type == "application/json");
  CHECK(parts.body == R"({"total": 1.50})");
  const auto& headers = parts.properties.headers;
  for (const std::string name :
       {"specversion", "source", "type", "subject", "partitionkey", "aggregatetype", "traceparent"})
    CHECK(headers["ce-" + name] == event[name]);
  CHECK(headers["ce-id"] == parts.message_id());
  CHECK(headers["ce-time"] == headers["occurred_at"]);
}

TEST_CASE("bytes travel as data_base64 in a structured CloudEvent") {
  const stage on{{.payload = "bytea"}};
  const auto got = deliver_one(on, route_to(on, "format = 'cloudevents'"),
                               {.event_type = "scan", .payload = R"('\x00ff10'::bytea)"});
  const auto event = json::parse(got.body);
  CHECK(event["data_base64"] == "AP8Q");
  CHECK(event["datacontenttype"] == "application/octet-stream");
}

TEST_CASE("an event that cannot take its route is dead with the reason, and nobody else stops") {
  const stage on;
  const settings_file file{fmt::format(
      "[[route]]\nname = 'by region'\nevent_type = '{0}.*'\nrouting_key = '{0}.{{header:region}}'\n",
      on.queue())};
  const auto bad = insert(on, {.event_type = on.key("lacks"), .aggregate_id = "1"});
  const auto long_key = insert(on, {.event_type = on.key("long"),
                                    .aggregate_id = "2",
                                    .headers = fmt::format(R"({{"region":"{}"}})", std::string(300, 'r'))});
  for (int i = 3; i < 20; ++i)
    insert(on, {.event_type = on.key(), .aggregate_id = std::to_string(i), .headers = R"({"region":"eu"})"});
  relay running{on, file.flags()};
  on.await_published(17);
  on.await_drained();
  CHECK(on.count("dead") == 2);
  auto session = on.connect();
  const auto reason = [&](const std::string& id) {
    return session.value("SELECT last_error_code || ': ' || last_error FROM outbox.event WHERE id = $1",
                         {id});
  };
  CHECK(reason(bad) ==
        "unencodable: the event has no header \"region\" with a text, a number, true or false, which "
        "routing_key "
        "of route \"by region\" needs");
  CHECK(reason(long_key).starts_with("unencodable: routing key is "));
  running.stop();
}

TEST_CASE("events of a route whose exchange is missing wait without an attempt until it is declared") {
  const stage on;
  const auto exchange = on.queue() + "-late";
  const settings_file file{
      fmt::format("[retry]\nschedule = ['20ms']\n[[route]]\nname = 'late'\nexchange = '{}'\n"
                  "header = 'late'\n",
                  exchange)};
  for (int i = 0; i < 4; ++i)
    insert(on,
           {.event_type = on.key(), .aggregate_id = fmt::format("late-{}", i), .headers = R"({"late":1})"});
  on.add_events(20, 5);
  relay running{on, file.flags()};
  on.await_published(100);
  running.wait_line(exchange, time_limit);
  broker admin;
  running.send(SIGSTOP);  // an exchange without a binding would be the events' own fault
  admin.declare_exchange(exchange);
  admin.bind(on.queue(), exchange, on.queue() + ".#");
  running.send(SIGCONT);
  const auto report = on.check_all();
  // The rows name no exchange, so each of these counts as a mismatch.
  CHECK_MESSAGE(report.mismatches == 4, report.words());
  CHECK_MESSAGE(report.lost + report.phantom + report.duplicates + report.out_of_order == 0, report.words());
  CHECK(on.count("dead") == 0);
  CHECK(on.connect().number("SELECT count(*) FROM outbox.event WHERE attempts > 0") == 0);
  running.stop();
  admin.delete_exchange(exchange);
}

TEST_CASE("a routed event that comes back is logged with the exchange and the key that its route gave it") {
  const stage on;
  broker admin;
  const auto exchange = on.queue() + "-unbound";
  admin.declare_exchange(exchange);
  const settings_file file{fmt::format(
      "[[route]]\nname = 'away'\nexchange = '{}'\nrouting_key = 'away.{{event_type}}'\n", exchange)};
  insert(on, {.event_type = "paid"});
  auto flags = file.flags();
  flags.insert(flags.end(), {"--log-format", "json", "--log-level", "debug"});
  relay running{on, flags};
  const auto said = json::parse(running.wait_line("\"wait\"", time_limit));
  CHECK(said.at("error.type") == "returned");
  CHECK(said.at("messaging.destination.name") == exchange + ":away.paid");
  CHECK(said.at("messaging.rabbitmq.destination.routing_key") == "away.paid");
  running.stop();
  admin.delete_exchange(exchange);
}

TEST_CASE("a dead letter of an event that cannot take its route goes out as it is without one") {
  const stage on;
  broker admin;
  const auto exchange = on.queue() + "-dead";
  const auto letters = on.queue() + "-letters";
  admin.declare_exchange(exchange, "fanout");
  admin.declare_queue(letters);
  admin.bind(letters, exchange, "");
  const settings_file file{"[[route]]\nname = 'all'\nrouting_key = '{header:region}'\nformat = 'envelope'\n"};
  insert(on, {.event_type = on.key()});
  auto flags = file.flags();
  flags.insert(flags.end(), {"--dead-letter-exchange", exchange});
  relay running{on, flags};
  consumer reader{letters};
  const auto letter = reader.next(time_limit);
  REQUIRE_MESSAGE(letter, running.tail());
  CHECK(letter->body == R"({"total": 1.50})");
  CHECK(letter->properties.headers["dead_reason"].get<std::string>().find("\"region\"") != std::string::npos);
  running.stop();
  admin.delete_queue(letters);
  admin.delete_exchange(exchange);
}

TEST_CASE("published events are counted by their route, and routes change by SIGHUP under load") {
  const stage on;
  const auto first = fmt::format("[[route]]\nname = 'first'\nevent_type = '{}*'\n", on.queue());
  const auto second = fmt::format("[[route]]\nname = 'second'\nevent_type = '{}*'\n", on.queue());
  const settings_file file{first};
  load writers{on};
  asked_relay running{on, file.flags()};
  on.await_published(200);
  file.write(second);
  running.send(SIGHUP);
  const auto said = running.wait_line("route = 'second'", time_limit);
  CHECK(said.find("it was 'first'") != std::string::npos);
  // What was read before goes as the first one says.
  eventually(
      "events go by the second route", [&] { return published(running, "{route=\"second\"}") >= 500; },
      time_limit);
  file.write("[[route]]\nname = 'second'\nrouting_key = '{what}'\n");
  running.send(SIGHUP);
  running.wait_line("configuration not reloaded: route[1].routing_key = '{what}'", time_limit);
  on.await_published(on.count("published") + 200);
  writers.stop();
  on.await_drained();
  const auto of_first = published(running, "{route=\"first\"}");
  const auto of_second = published(running, "{route=\"second\"}");
  CHECK(of_first >= 200);
  CHECK(of_second >= 500);
  CHECK(of_first + of_second == static_cast<double>(on.count("published")));
  CHECK(published(running, "") == 0);
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  running.stop();
}

TEST_CASE("a format that needs JSON is refused at the start and at a reload where the payload is bytes") {
  const stage on{{.payload = "bytea"}};
  const settings_file bad{"[[route]]\nname = 'all'\nformat = 'envelope'\n"};
  auto variables = on.variables();
  auto words = arguments{"run"};
  for (const auto& one : bad.flags()) words.push_back(one);
  const auto ended = run_outboxd(words, variables);
  CHECK(ended.exited(1));
  CHECK(ended.says("route \"all\" has the format envelope, which needs a payload of type jsonb or json"));

  const settings_file file{"[log]\nlevel = 'info'\n"};
  relay running{on, file.flags()};
  running.await_connected();
  file.write("[[route]]\nname = 'all'\nformat = 'envelope'\n");
  running.send(SIGHUP);
  running.wait_line("configuration not reloaded: route \"all\" has the format envelope", time_limit);
  running.stop();
}

TEST_CASE("outboxd route tells which route an event would take, and what message comes out") {
  const settings_file file{
      "[[route]]\nname = 'paid orders'\nevent_type = 'order.*'\nheader = 'tenant=ac*'\nexchange = 'shop'\n"
      "routing_key = '{event_type}.{aggregate_id}'\nformat = 'cloudevents'\n"
      "[[route]]\nname = 'all'\npriority = 3\n"};
  const auto ask = [](const settings_file& with, const arguments& more) {
    arguments words{"route"};
    for (const auto& one : with.flags()) words.push_back(one);
    words.insert(words.end(), more.begin(), more.end());
    return run_outboxd(words);
  };
  const auto taken = ask(file, {"--json", "--event-type", "order.paid", "--aggregate-type", "order",
                                "--aggregate-id", "7", "--header", "tenant=acme", "--payload", R"({"a":1})"});
  REQUIRE_MESSAGE(taken.exited(0), taken.text());
  const auto told = json::parse(taken.text());
  CHECK(told["route"] == "paid orders");
  CHECK(told["exchange"] == "shop");
  CHECK(told["routing_key"] == "order.paid.7");
  CHECK(told["properties"]["content_type"] == "application/cloudevents+json");
  CHECK(told["headers"]["tenant"] == "acme");
  CHECK(json::parse(told["body"].get<std::string>())["data"]["a"] == 1);

  const auto other = ask(file, {"--event-type", "order.paid"});
  CHECK(other.says("route: all"));
  CHECK(other.says("routing_key        order.paid"));
  CHECK(other.says("priority           3"));
  const auto own = ask(file, {"--json", "--event-type", "x", "--exchange", "", "--routing-key", "q"});
  REQUIRE_MESSAGE(own.exited(0), own.text());
  CHECK(json::parse(own.text())["exchange"] == "");
  CHECK(json::parse(own.text())["routing_key"] == "q");
  const auto too_long = ask(file, {"--event-type", std::string(300, 'x')});
  CHECK(too_long.exited(1));
  CHECK(too_long.says("such an event would be dead: routing key is 300 bytes long"));
  const settings_file shadowed{"[[route]]\nname = 'all'\n[[route]]\nname = 'never'\nevent_type = 'x'\n"};
  CHECK(ask(shadowed, {"--event-type", "x"}).says("route \"never\" is never taken"));
  CHECK(ask(file, {}).exited(2));
  CHECK(ask(file, {"--event-type", "x", "--payload", "{"}).exited(2));
  CHECK(ask(file, {"--event-type", "x", "--header", "tenant"}).exited(2));
  CHECK(ask(file, {"--event-type", "x", "--payload-type", "xml"}).exited(2));
}

TEST_CASE("without mandatory what no queue takes does not come back, and counts as published") {
  const stage on;
  const settings_file file{route_nowhere("mandatory = false")};
  insert(on, {.event_type = "lost"});
  relay running{on, file.flags()};
  running.wait_line("route \"nowhere\" is not mandatory", time_limit);
  on.await_published(1);
  running.stop();
}

TEST_CASE("an event whose route's header needs what it lacks is dead, and says which") {
  const stage on;
  const settings_file file{route_to(on, "headers = { region = '{header:region}' }")};
  insert(on, {.event_type = "paid"});
  relay running{on, file.flags()};
  eventually(
      "it is dead", [&] { return on.count("dead") == 1; }, time_limit);
  CHECK(
      on.connect().value("SELECT last_error FROM outbox.event") ==
      "the event has no header \"region\" with a text, a number, true or false, which header region of route "
      "\"ours\" needs");
  running.stop();
}

}  // namespace outboxd::test::route_test
