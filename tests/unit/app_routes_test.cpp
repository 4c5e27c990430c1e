// app_routes_test: the tables [[route]] of the settings file: what they mean, and what is said of bad ones.
#include <doctest/doctest.h>

#include "app/config/effective_settings.hpp"
#include "app/config/reload.hpp"
#include "app/config/settings.hpp"
#include "temporary_file.hpp"

namespace app_routes_test {

using namespace outboxd;
using namespace outboxd::app;
using outboxd::test::temporary_file;
using namespace std::chrono_literals;

namespace {

result<settings> read(const std::string& toml) {
  const temporary_file file(toml);
  const auto raw = read_file(file.path());
  if (!raw) return tl::make_unexpected(raw.error());
  return read_settings(*raw);
}

// Without the file's path.
std::string refusal(const std::string& toml) {
  const auto got = read(toml);
  if (got) return "";
  std::string out = got.error().message;
  for (auto at = out.find("/tmp"); at != std::string::npos; at = out.find("/tmp"))
    out.erase(at, out.find(':', at) - at);
  return out;
}

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

const routing& routes_of(const settings& from) {
  return from.relay.leader.stream.route;
}

constexpr auto everything = R"(
[[route]]
name = "orders"
event_type = "order.*"
aggregate_type = "order"
header = "tenant=acme*"
exchange = "shop"
routing_key = "{event_type}.{header:tenant}"
format = "cloudevents"
content_type = "application/vnd.x+json"
priority = 5
expiration = "1h"
correlation_id = "{aggregate_id}"
persistent = true
deduplication_header = true
content_encoding = "gzip"
mandatory = true
headers = { origin = "shop", version = 3, beta = false, share = 0.5, "odd name" = "{{x}}",of="{event_type}"}

[[route]]
name = "rest"
format = "envelope"
)";

}  // namespace

TEST_CASE("every key of a route arrives where it is used") {
  const auto got = read(everything);
  REQUIRE_MESSAGE(got, got.error().message);
  const auto& all = routes_of(*got).routes;
  REQUIRE(all.size() == 2);
  const route& one = *all[0];
  CHECK(one.name == "orders");
  CHECK(one.event_type->text() == "order.*");
  CHECK(one.aggregate_type->text() == "order");
  CHECK(one.header->name == "tenant");
  CHECK(one.header->value->text() == "acme*");
  CHECK(one.exchange->fixed_text() == "shop");
  CHECK_FALSE(one.routing_key->fixed_text());
  CHECK(one.format == message_format::cloudevents);
  CHECK(one.content_type->fixed_text() == "application/vnd.x+json");
  CHECK(one.priority == 5);
  CHECK(one.expiration == 1h);
  CHECK(one.correlation_id);
  CHECK(one.persistent);
  CHECK(one.deduplication_header);
  CHECK(one.content_encoding->fixed_text() == "gzip");
  CHECK(one.mandatory);
  REQUIRE(one.headers.size() == 6);
  for (const auto& [header, made] : one.headers) {
    CHECK(made.has_value() == (header.name == "of"));
    if (header.name == "odd name") CHECK(std::get<std::string>(header.value) == "{x}");
    if (header.name == "origin") CHECK(std::get<std::string>(header.value) == "shop");
    if (header.name == "version") CHECK(std::get<std::int64_t>(header.value) == 3);
    if (header.name == "beta") CHECK_FALSE(std::get<bool>(header.value));
    if (header.name == "share") CHECK(std::get<double>(header.value) == 0.5);
  }
  CHECK(all[1]->name == "rest");
  CHECK(all[1]->format == message_format::envelope);
  CHECK(got->warnings.empty());
}

TEST_CASE("routes keep the order of the file, also beyond nine") {
  std::string toml;
  for (int i = 1; i <= 12; ++i)
    toml += "[[route]]\nname = \"r" + std::to_string(i) + "\"\nevent_type = \"t" + std::to_string(i) + "\"\n";
  const auto got = read(toml);
  REQUIRE(got);
  for (std::size_t i = 0; i < 12; ++i) CHECK(routes_of(*got).routes[i]->name == "r" + std::to_string(i + 1));
}

TEST_CASE("a bad route is refused with its key, the value, the line and what is allowed") {
  const auto line = [](const std::string& text) {
    return refusal("[[route]]\nname = \"a\"\n" + text + "\n");
  };
  CHECK(has(line("routing_key = ''"), "route[1].routing_key = '' (:3) is empty"));
  CHECK(has(line("mandatory = 'no'"), "is neither true nor false"));
  CHECK(has(line("content_encoding = '{x}'"),
            "route[1].content_encoding = '{x}' (:3) has the unknown placeholder"));
  CHECK(has(line("headers = { a = '{evnt}' }"), "has the unknown placeholder {evnt}"));
  CHECK(has(line("headers = { a = '{' }"), "{{ stands for a single one"));
  CHECK(has(line("routing_key = '{evnt}'"),
            "route[1].routing_key = '{evnt}' (:3) has the unknown placeholder"));
  CHECK(has(line("content_type = '{header:}'"), "route[1].content_type"));
  CHECK(has(line("correlation_id = '}'"), "without its {"));
  CHECK(has(line("event_type = ''"), "route[1].event_type = '' (:3) is empty; leave it out, or write *"));
  CHECK(has(line("header = '=x'"), "route[1].header = '=x' (:3) has no name; write NAME, or NAME=PATTERN"));
  CHECK(has(line("format = 'avro'"), "is none of raw, envelope, cloudevents and cloudevents-binary"));
  CHECK(has(line("priority = 256"), "is not a whole number from 0 to 255"));
  CHECK(has(line("priority = 'high'"), "is not a whole number from 0 to 255"));
  CHECK(has(line("expiration = '50d'"), "is not a time from 1ms to 49d"));
  CHECK(has(line("expiration = 10"), "is not a time from 1ms to 49d"));
  CHECK(has(line("persistent = 'no'"), "is neither true nor false"));
  CHECK(has(line("headers = { seq = 1 }"), "is a header that every message has"));
  CHECK(has(line("headers = { CC = 'x' }"), "other routing keys"));
  CHECK(has(
      line("headers = { x-death = 'x' }"),
      "route[1].headers.x-death = '\"x\"' (:3) is a header that RabbitMQ itself writes; take another name"));
  CHECK(has(line("headers = { '' = 'x' }"), "1 to 255 bytes"));
  CHECK(
      has(line("headers = { a = [1] }"), "the header a in :3 is neither a string, a number, true nor false"));
  CHECK(has(line("headers = { a = nan }"), "the header a in :3"));
  CHECK(has(line("headers = 'x'"), "headers in :3 is no table"));
  CHECK(has(line("evnt_type = 'x'"), "unknown key 'evnt_type' in :3; a route has name, event_type,"));
  CHECK(has(line("exchange = ['a']"), "exchange in :3 is neither a string"));
  CHECK(has(line("exchange = '" + std::string(256, 'x') + "'"), "is longer than 255 bytes"));
  CHECK(has(refusal("[[route]]\nevent_type = 'x'\n"), "the route in :1 has no name"));
  CHECK(has(refusal("[[route]]\nname = ''\n"), "is not a name of 1 to 100 bytes"));
  CHECK(has(refusal("[route]\nname = 'a'\n"), "write [[route]]"));
  CHECK(has(refusal("route = 'x'\n"), "write [[route]]"));
  CHECK(has(refusal("route = [1]\n"), "write [[route]]"));
  CHECK(has(refusal("[[route]]\nname = 'a'\nevent_type='x'\n[[route]]\nname = 'a'\n"),
            "route[2].name = 'a' (:5) is also the name of an earlier route"));
}

TEST_CASE("the exchange without a name may be written as in a row, or as RabbitMQ's management does") {
  for (const char* name : {"", "amq.default"}) {
    const auto got =
        read(std::string("[[route]]\nname = 'a'\nexchange = '") + name + "'\nrouting_key = 'q'\n");
    REQUIRE_MESSAGE(got, got.error().message);
    event one;
    one.headers = "{}";
    const auto taken = resolve(one, routes_of(*got));
    REQUIRE(taken);
    CHECK(taken->exchange.empty());
  }
}

TEST_CASE("a route that is never taken, and one that is not persistent or mandatory, are warned of") {
  const auto got = read(
      "[[route]]\nname = 'all'\npersistent = false\nmandatory = false\n[[route]]\nname = "
      "'orders'\nevent_type = "
      "'order.*'\n");
  REQUIRE(got);
  REQUIRE(got->warnings.size() == 3);
  CHECK(has(got->warnings[2], "\"all\" is not mandatory"));
  CHECK(has(got->warnings[0], "\"orders\" is never taken"));
  CHECK(has(got->warnings[1], "\"all\" is not persistent"));
}

TEST_CASE("the effective settings have the routes, and mean the same when they are fed back") {
  const auto got = read(everything);
  REQUIRE(got);
  const auto shown = to_toml(*got, extent::all);
  CHECK(has(shown, "[[route]]\n"));
  CHECK(has(shown, "headers.\"odd name\" = \"{{x}}\""));
  const auto again = read(shown);
  REQUIRE_MESSAGE(again, again.error().message);
  CHECK(routes_of(*again).routes.size() == 2);
  CHECK(to_toml(*again, extent::all).size() > 100);
  for (const auto& [key, value] : got->raw)
    if (key.starts_with("route[")) CHECK(again->raw.at(key).text == value.text);
}

TEST_CASE("changed routes are taken up at run time, and bad ones change nothing") {
  const auto before = read(everything);
  REQUIRE(before);
  const temporary_file changed("[[route]]\nname = 'new'\n");
  const auto after = reload(*before, *read_file(changed.path()));
  REQUIRE(after);
  CHECK(after->taken_up == std::vector<std::string>{"route"});
  CHECK(after->at_restart.empty());
  CHECK(value_of(after->in_force, "route").text == "new");
  CHECK(value_of(*before, "route").text == "orders, rest");
  REQUIRE(routes_of(after->in_force).routes.size() == 1);
  const auto same = reload(after->in_force, *read_file(changed.path()));
  CHECK(same->taken_up.empty());
  const temporary_file bad("[[route]]\nname = 'new'\nrouting_key = ''\n");
  CHECK_FALSE(reload(*before, *read_file(bad.path())));
  const auto none = reload(*before, {});
  CHECK(routes_of(none->in_force).routes.empty());
}

TEST_CASE("the source and the prefix of CloudEvents are checked") {
  CHECK(has(refusal("[cloudevents]\nsource = ''\n"), "cloudevents.source"));
  CHECK(has(refusal("[cloudevents]\nsource = 'a b'\n"), "a URI, or a reference to one"));
  CHECK(has(refusal("[cloudevents]\nheader_prefix = 'x-'\n"), "cloudevents.header_prefix"));
  const auto got = read("[cloudevents]\nsource = '/shop'\nheader_prefix = 'ce-'\n");
  CHECK(routes_of(*got).cloudevents.source == "/shop");
  CHECK(routes_of(*got).cloudevents.header_prefix == "ce-");
}

}  // namespace app_routes_test
