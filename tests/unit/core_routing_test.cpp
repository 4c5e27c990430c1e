// core_routing_test: which route an event takes, and what becomes of it there.
#include "core/routing.hpp"

#include <doctest/doctest.h>

#include "core/to_message.hpp"

namespace core_routing_test {

using namespace outboxd;

namespace {

event sample() {
  event one;
  one.seq = 42;
  one.aggregate_type = "order";
  one.aggregate_id = "7";
  one.event_type = "order.created";
  one.payload = R"({"a":1})";
  one.headers = R"({"tenant":"acme"})";
  return one;
}

text_template made(std::string_view text) {
  return *text_template::parse(text);
}

routing with(std::vector<route> all) {
  routing out;
  for (route& one : all) out.routes.push_back(std::make_shared<const route>(std::move(one)));
  return out;
}

std::string name_taken(const event& by, const routing& of) {
  const auto taken = resolve(by, of);
  return taken ? taken->by->name : "none";
}

route named(std::string name) {
  route out;
  out.name = std::move(name);
  return out;
}

}  // namespace

TEST_CASE("the first route that matches is taken, by event type, aggregate type and header together") {
  route by_type = named("by type"), by_aggregate = named("by aggregate"), by_header = named("by header");
  by_type.event_type = glob("order.paid");
  by_aggregate.event_type = glob("order.*");
  by_aggregate.aggregate_type = glob("invoice");
  by_header.header = header_condition{"tenant", glob("ac*")};
  const auto all = with({by_type, by_aggregate, by_header});
  event one = sample();
  CHECK(name_taken(one, all) == "by header");
  one.aggregate_type = "invoice";
  CHECK(name_taken(one, all) == "by aggregate");
  one.event_type = "order.paid";
  CHECK(name_taken(one, all) == "by type");
  one = sample();
  one.headers = R"({"tenant":"zeta"})";
  CHECK(name_taken(one, all) == "none");
  one.headers = "{}";
  CHECK(name_taken(one, all) == "none");
}

TEST_CASE("a header condition without a value wants the header, whatever it says") {
  route one = named("any tenant");
  one.header = header_condition{"tenant", std::nullopt};
  const auto all = with({one});
  event of = sample();
  CHECK(name_taken(of, all) == "any tenant");
  of.headers = R"({"tenant":17})";
  CHECK(name_taken(of, all) == "any tenant");
  of.headers = R"({"tenant":null})";
  CHECK(name_taken(of, all) == "none");
}

TEST_CASE("a route gives the exchange, the key and the properties, and the row's own exchange and key stay") {
  route one = named("orders");
  one.exchange = made("shop.{aggregate_type}");
  one.routing_key = made("{event_type}.{header:tenant}");
  one.content_type = made("application/vnd.{event_type}+json");
  one.correlation_id = made("{aggregate_id}");
  one.content_encoding = made("gzip");
  one.mandatory = false;
  one.headers = {{.fixed = {"origin", std::string("shop")}},
                 {.fixed = {"tenant", std::string("default")}},
                 {.fixed = {"subject", {}}, .made = made("{aggregate_type}/{aggregate_id}")}};
  one.priority = 9;
  one.expiration = std::chrono::minutes(1);
  one.persistent = false;
  one.deduplication_header = true;
  const auto all = with({one});
  event from = sample();
  const auto taken = resolve(from, all);
  const auto got = to_message(from, payload_type::jsonb, all, taken.get());
  REQUIRE(got);
  CHECK(got->exchange == "shop.order");
  CHECK(got->routing_key == "order.created.acme");
  CHECK(got->content_type == "application/vnd.order.created+json");
  CHECK(got->correlation_id == "7");
  CHECK(got->priority == 9);
  CHECK(got->expiration == "60000");
  CHECK_FALSE(got->persistent);
  CHECK(got->content_encoding == "gzip");
  CHECK_FALSE(got->mandatory);
  REQUIRE(got->default_headers.size() == 4);
  CHECK(got->default_headers[2].name == "subject");
  CHECK(std::get<std::string>(got->default_headers[2].value) == "order/7");
  CHECK(got->default_headers.back().name == "x-deduplication-header");
  CHECK(std::get<std::string>(got->default_headers.back().value) == to_string(from.id));
  CHECK(got->body == from.payload);
  from.exchange = "own";
  from.routing_key = "own.key";
  const auto own = resolve(from, all);
  const auto kept = to_message(from, payload_type::jsonb, all, own.get());
  CHECK(kept->exchange == "own");
  CHECK(kept->routing_key == "own.key");
  CHECK(kept->priority == 9);
}

TEST_CASE("an event that lacks a header of its route is refused with the header and the route") {
  route one = named("orders");
  one.routing_key = made("{header:region}");
  const auto all = with({one});
  const event from = sample();
  const auto taken = resolve(from, all);
  const auto got = to_message(from, payload_type::jsonb, all, taken.get());
  REQUIRE_FALSE(got);
  CHECK(got.error().message ==
        "the event has no header \"region\" with a text, a number, true or false, which routing_key of route "
        "\"orders\" needs");
  CHECK(taken->routing_key == "order.created");
}

TEST_CASE("amq.default is the exchange without a name") {
  route one = named("to a queue");
  one.exchange = made("amq.default");
  const auto all = with({one});
  CHECK(resolve(sample(), all)->exchange == "");
  CHECK(fixed_exchanges(all).empty());
}

TEST_CASE("exchanges that routes name without placeholders are known, each once") {
  route a = named("a"), b = named("b"), c = named("c");
  a.exchange = b.exchange = made("orders");
  c.exchange = made("{aggregate_type}");
  CHECK(fixed_exchanges(with({a, b, c})) == std::vector<std::string>{"orders"});
}

TEST_CASE("a route behind one that takes all of its events is named") {
  route all = named("all"), orders = named("orders"), tenant = named("tenant"), acme = named("acme");
  orders.event_type = glob("order.*");
  tenant.header = header_condition{"tenant", std::nullopt};
  acme.header = header_condition{"tenant", glob("acme")};
  CHECK(unreachable(with({orders, tenant, all})).empty());
  CHECK(unreachable(with({all, orders})) ==
        std::vector<std::string>{
            R"(route "orders" is never taken: route "all" before it takes all of its events)"});
  CHECK(unreachable(with({tenant, acme})).size() == 1);
  CHECK(unreachable(with({acme, tenant})).empty());
  CHECK(unreachable(with({orders, orders})).size() == 1);
}

TEST_CASE("a format that needs JSON says so of an outbox without it") {
  route one = named("orders");
  one.format = message_format::envelope;
  CHECK_FALSE(misfit(with({one}), payload_type::jsonb));
  CHECK_FALSE(misfit(with({one}), payload_type::json));
  CHECK(misfit(with({one}), payload_type::text)->find("\"orders\"") != std::string::npos);
  CHECK(misfit(with({one}), payload_type::bytea));
  one.format = message_format::cloudevents;
  CHECK_FALSE(misfit(with({one}), payload_type::bytea));
}

}  // namespace core_routing_test
