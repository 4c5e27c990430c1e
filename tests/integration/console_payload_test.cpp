// outboxd console: what an event carries is shown to who may see it, asked for, as text, and never too much.
// And what `outboxd check` would warn of.
#include <doctest/doctest.h>

#include "acting_console.hpp"
#include "support/consumer.hpp"

namespace outboxd::test::console_payload_test {
namespace {

using nlohmann::json;

std::string path_of(database& session, const std::string& id) {
  return "/api/payload?id=" + id +
         "&seq=" + session.value("SELECT seq FROM outbox.event WHERE id = $1", {id});
}

std::string emit(database& session, const stage& on, const std::string& payload) {
  return session.value("SELECT outbox.emit('order', '1', $1, $2, '{\"trace\": \"secret-trace\"}')",
                       {on.key(), payload});
}

}  // namespace

TEST_CASE("a payload is shown to who may act, asked for, and to nobody else") {
  const stage on;
  const operator_desk desk{on};
  auto session = on.connect();
  const auto id = emit(session, on, R"({"note": "<b>in-the-payload</b>"})");
  const auto path = path_of(session, id);
  {
    const acting_console console{desk};
    const person actor{console};
    CHECK(json::parse(actor.get("/api/session").body).at("payloads") == true);
    const auto event = actor.get("/api/event?id=" + id);
    CHECK(json::parse(event.body).at("events").at(0).at("header_names") == json{"trace"});
    CHECK(event.body.find("in-the-payload") == std::string::npos);
    CHECK(event.body.find("secret-trace") == std::string::npos);
    const auto shown = json::parse(actor.get(path).body);
    CHECK(shown.at("type") == "jsonb");
    CHECK(shown.at("payload") == R"({"note": "<b>in-the-payload</b>"})");
    CHECK(shown.at("headers") == R"({"trace": "secret-trace"})");
    CHECK(shown.at("bytes") == 33);
    CHECK(shown.at("shown_bytes") == 33);
    const person reader{console, read_token};
    CHECK(json::parse(reader.get("/api/session").body).at("payloads") == false);
    CHECK(reader.get(path).status == 403);
    CHECK(console.get(path).status == 401);
    CHECK(actor.get("/api/payload?id=" + id).status == 400);
    CHECK(actor.get("/api/payload?id=" + id + "&seq=1;").status == 400);
    CHECK(actor.get("/api/payload?id=" + id + "&seq=999").status == 404);
  }
  {
    const acting_console nobody{desk, {"--console-payloads", "off"}};
    CHECK(person{nobody}.get(path).status == 403);
  }
  {
    const running_console unasked{desk, {"--console-payloads", "read"}};
    CHECK(unasked.get(path).status == 200);
  }
  {
    const running_console as_installed{desk};
    CHECK(as_installed.get(path).status == 403);
  }
}

TEST_CASE("a dead event is edited and requeued from the console, by who may see its payload") {
  const stage on;
  const operator_desk desk{on};
  auto session = on.connect();
  const auto id = emit(session, on, R"({"n": 1})");
  session.exec("UPDATE outbox.event SET status = 'dead', exception = 'dead', routing_key = 'mistyped'");
  const json order{{"what", "edit"},
                   {"retry", true},
                   {"id", {id}},
                   {"set_routing_key", on.key()},
                   {"set_payload", R"({"note": "in-the-payload"})"},
                   {"set_headers", R"({"trace": "t-2"})"}};
  {
    const acting_console nobody{desk, {"--console-payloads", "off"}};
    const person actor{nobody};
    CHECK(actor.post("/api/action/preview", order).status == 403);
    auto names = order;
    names.erase("set_payload");
    CHECK(actor.post("/api/action/preview", names).status == 403);
    names.erase("set_headers");
    CHECK(actor.preview(names).at("matched") == 1);
  }
  const acting_console console{desk};
  const person actor{console};
  auto wrong = order;
  wrong["set_payload"] = "no JSON {";
  CHECK(actor.post("/api/action/preview", wrong).status == 400);
  CHECK(session.number("SELECT count(*) FROM outbox.audit") == 0);
  const auto plan = actor.preview(order);
  CHECK(plan.dump().find("in-the-payload") == std::string::npos);
  actor.apply(plan);
  CHECK(actor.await(plan, "done").at("changed") == 1);
  CHECK(session.value("SELECT what || ' ' || selection || ' ' || events FROM outbox.audit") ==
        "edit --id " + id + " --set-payload payload --set-headers headers.json --set-routing-key " +
            on.key() + " --retry 1");
  const relay running{on};
  const auto arrived = consumer{on.queue()}.take(1, time_limit).at(0);
  CHECK(arrived.body == R"({"note": "in-the-payload"})");
  CHECK(arrived.properties.headers.at("trace") == "t-2");
}

TEST_CASE("of a long payload the beginning is shown, and of one that is too large its size") {
  const stage on;
  const operator_desk desk{on};
  auto session = on.connect();
  const auto text_of = [](std::size_t size) { return "\"" + std::string(size, 'x') + "\""; };
  const auto longer = path_of(session, emit(session, on, text_of(100'000)));
  const auto large = path_of(session, emit(session, on, text_of(5'000'000)));
  const acting_console console{desk};
  const person actor{console};
  const auto shown = json::parse(actor.get(longer).body);
  CHECK(shown.at("bytes") == 100'002);
  CHECK(shown.at("shown_bytes") == 65'536);
  CHECK(shown.at("payload").get<std::string>().size() == 65'536);
  const auto not_shown = json::parse(actor.get(large).body);
  CHECK(not_shown.at("payload").is_null());
  CHECK(not_shown.at("why").get<std::string>().find("5000") != std::string::npos);
}

TEST_CASE("a payload of bytes is shown in hexadecimal digits, the first of them") {
  const stage on{{.payload = "bytea"}};
  const operator_desk desk{on};
  auto session = on.connect();
  const auto insert = [&](const std::string& what) {
    return path_of(
        session, session.value("INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload)"
                               " VALUES ('order', '1', $1, " +
                                   what + ") RETURNING id",
                               {on.key()}));
  };
  const auto small = insert("'\\x00ff3c'");
  const auto large = insert("decode(repeat('ab', 10000), 'hex')");
  const acting_console console{desk};
  const person actor{console};
  const auto shown = json::parse(actor.get(small).body);
  CHECK(shown.at("type") == "bytea");
  CHECK(shown.at("payload") == "00ff3c");
  CHECK(shown.at("bytes") == 3);
  const auto beginning = json::parse(actor.get(large).body);
  CHECK(beginning.at("bytes") == 10'000);
  CHECK(beginning.at("shown_bytes") == 4'096);
  CHECK(beginning.at("payload").get<std::string>().size() == 8'192);
}

TEST_CASE("what check would warn of is told with its remedy, as far as an operator sees it") {
  const stage on;
  const operator_desk desk{on};
  {
    const running_console console{desk};
    CHECK(console.json("/api/checks").at("findings").empty());
  }
  auto session = on.connect();
  session.exec("ALTER TABLE outbox.event SET (autovacuum_enabled = false)");
  const running_console console{desk};
  const auto found = console.json("/api/checks").at("findings");
  REQUIRE(found.size() == 1);
  CHECK(found.at(0).at("name") == "database.autovacuum");
  CHECK(found.at(0).at("verdict") == "warning");
  CHECK(found.at(0).at("remedy") == "ALTER TABLE outbox.event RESET (autovacuum_enabled);");
}

}  // namespace outboxd::test::console_payload_test
