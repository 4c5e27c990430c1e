// amqp_field_table_test: every JSON type as an AMQP field, and every limit at its edge and one beyond.
#include <doctest/doctest.h>

#include <string>

#include "amqp/field_table.hpp"
#include "amqp_wire.hpp"

namespace amqp_field_table_test {

using namespace outboxd::amqp;

namespace {

constexpr std::string_view standard =
    "aggregate_type:S\"order\",aggregate_id:S\"42\",seq:l7,occurred_at:S\"now\"";

outboxd::result<amqp_table_t> build(field_table& table, std::string_view headers, std::size_t max_bytes) {
  static outboxd::message m;
  m.aggregate_type = "order";
  m.aggregate_id = "42";
  m.seq = 7;
  m.occurred_at = "now";
  m.headers = headers;
  return table.build(m, max_bytes);
}

// The row's part of the table as text, the standard headers checked and taken off; or the error.
std::string mapped(std::string_view headers, std::size_t max_bytes = 131'000) {
  field_table table;
  auto built = build(table, headers, max_bytes);
  if (!built) {
    CHECK(built.error().kind == outboxd::fault::permanent);
    return "error: " + built.error().message;
  }
  std::string bytes(1000 + 10 * headers.size(), '\0');
  std::size_t offset = 0;
  REQUIRE(amqp_encode_table({bytes.size(), bytes.data()}, &*built, &offset) == 0);
  const std::string text = wire::table_text(std::string_view(bytes).substr(4, offset - 4));
  REQUIRE(text.starts_with("{" + std::string(standard)));
  const auto rest = text.substr(1 + standard.size(), text.size() - 2 - standard.size());
  return rest.empty() ? rest : rest.substr(1);
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}
bool refused(const std::string& answer) {
  return answer.starts_with("error: ");
}

std::string nested_arrays(int depth) {
  return R"({"h":)" + std::string(static_cast<std::size_t>(depth - 1), '[') +
         std::string(static_cast<std::size_t>(depth - 1), ']') + "}";
}
std::string nested_objects(int depth) {
  std::string text;
  for (int i = 1; i < depth; ++i) text += R"({"h":)";
  return text + "{}" + std::string(static_cast<std::size_t>(depth - 1), '}');
}

}  // namespace

TEST_CASE("an event without headers of its own carries the standard ones") {
  CHECK(mapped("{}") == "");
  CHECK(mapped(" { } ") == "");
}

TEST_CASE("every JSON type keeps its type") {
  CHECK(mapped(R"({"a":null})") == "a:V");
  CHECK(mapped(R"({"a":true,"b":false})") == "a:t1,b:t0");
  CHECK(mapped(R"({"a":0,"b":-1,"c":9007199254740993})") == "a:l0,b:l-1,c:l9007199254740993");
  CHECK(mapped(R"({"a":1.5,"b":-2e3,"c":1.0})") == "a:d1.500000,b:d-2000.000000,c:d1.000000");
  CHECK(mapped(R"({"a":"","b":"x\"\u00e9"})") == "a:S\"\",b:S\"x\"\xC3\xA9\"");
  CHECK(mapped(R"({"a":[],"b":[1,"x",null,[true],{"c":2}]})") == R"(a:A[],b:A[l1,S"x",V,A[t1],F{c:l2}])");
  CHECK(mapped(R"({"a":{},"b":{"c":{"d":1,"e":[]}}})") == "a:F{},b:F{c:F{d:l1,e:A[]}}");
}

TEST_CASE("a NUL inside a text or a name passes") {
  CHECK(mapped(R"({"a\u0000b":"c\u0000d"})") == std::string("a\0b:S\"c\0d\"", 10));
}

TEST_CASE("a name that occurs twice keeps its last value, at every depth") {
  CHECK(mapped(R"({"b":1,"a":2,"b":3})") == "a:l2,b:l3");
  CHECK(mapped(R"({"o":{"x":1,"x":[1],"x":"last"},"p":1})") == "o:F{x:S\"last\"},p:l1");
}

TEST_CASE("the standard headers win over the row's, and deeper ones of the same name stay") {
  CHECK(
      mapped(R"({"seq":"mine","aggregate_type":1,"aggregate_id":null,"occurred_at":[],"other":{"seq":1}})") ==
      "other:F{seq:l1}");
}

TEST_CASE("a header name of 255 bytes passes and one of 256 is refused by name, at every depth") {
  const std::string most(255, 'n');
  CHECK(mapped(R"({")" + most + R"(":1})") == most + ":l1");
  CHECK(mapped(R"({"o":{")" + most + R"(":1}})") == "o:F{" + most + ":l1}");
  const std::string answer = mapped(R"({")" + most + R"(n":1})");
  CHECK(has(answer, "256 bytes"));
  CHECK(has(answer, "255"));
  CHECK(has(answer, "nnnn"));
  CHECK(has(mapped(R"({"o":{")" + most + R"(n":1}})"), "header \"o\""));
  CHECK(refused(mapped(R"({")" + std::string(512, 'n') + R"(":1})")));
}

TEST_CASE("a header name is measured in bytes, and cut in the error between characters") {
  std::string name(254, 'n');
  CHECK(refused(mapped(R"({")" + name + "\xC3\xA9" + R"(":1})")));
  name.pop_back();
  CHECK(mapped(R"({")" + name + "\xC3\xA9" + R"(":1})") == name + "\xC3\xA9:l1");
  std::string wide;
  for (int i = 0; i < 128; ++i) wide += "\xC3\xA9";
  const std::string answer = mapped(R"({"x)" + wide + R"(":1})");
  CHECK(has(answer, "\xC3\xA9..."));
}

TEST_CASE("an empty header name is refused, at every depth") {
  CHECK(refused(mapped(R"({"":1})")));
  CHECK(refused(mapped(R"({"a":[{"":null}]})")));
}

TEST_CASE("64 levels pass and 65 are refused, of arrays and of objects") {
  CHECK_FALSE(refused(mapped(nested_arrays(64))));
  CHECK(has(mapped(nested_arrays(65)), "64"));
  CHECK_FALSE(refused(mapped(nested_objects(64))));
  CHECK(has(mapped(nested_objects(65)), "64"));
  CHECK(refused(mapped(nested_arrays(200))));
  CHECK(refused(mapped(nested_objects(100'000))));
}

TEST_CASE("integers of 64 bits with sign pass and the next ones are refused") {
  CHECK(mapped(R"({"a":9223372036854775807})") == "a:l9223372036854775807");
  CHECK(mapped(R"({"a":-9223372036854775808})") == "a:l-9223372036854775808");
  for (const std::string& number : {std::string("9223372036854775808"), std::string("-9223372036854775809"),
                                    std::string("18446744073709551615"), std::string("18446744073709551616"),
                                    "1" + std::string(400, '0'), "-1" + std::string(400, '0')}) {
    const std::string answer = mapped(R"({"amount":)" + number + "}");
    CHECK(has(answer, "header \"amount\" has an integer beyond 64 bits"));
    CHECK_FALSE(has(answer, number));
    CHECK(has(mapped(R"({"amount":[{"x":)" + number + "}]}"), "header \"amount\""));
  }
}

TEST_CASE("a number beyond a double is refused and the largest double passes") {
  CHECK(has(mapped(R"({"a":1e400})"), "header \"a\" has a number beyond the range of a double"));
  CHECK(has(mapped(R"({"a":-1e400})"), "range of a double"));
  CHECK_FALSE(refused(mapped(R"({"a":1.7976931348623157e308})")));
  CHECK(mapped(R"({"a":1e-400})") == "a:d0.000000");
}

TEST_CASE("headers that are not a JSON object are refused") {
  for (const std::string_view text :
       {"[]", "null", "true", "1", "1.5", "1e400", "99999999999999999999", "\"x\""})
    CHECK(mapped(text) == "error: headers is not a JSON object");
  for (const std::string_view text : {"", "{", "{\"a\"", "{\"a\":", "{\"a\":1", "{\"a\":1}x",
                                      "{\"canary\":canary}", "{\"a\":\"\xFF\"}", "{a:1}"}) {
    const std::string answer = mapped(text);
    CHECK(has(answer, "not valid JSON"));
    CHECK_FALSE(has(answer, "canary"));
  }
}

TEST_CASE("no error tells a value or a name inside one") {
  CHECK_FALSE(has(mapped(R"({"h":{"canary":1e400}})"), "canary"));
  CHECK_FALSE(has(mapped(R"({"h":["canary",1e400]})"), "canary"));
  CHECK_FALSE(has(mapped(R"({"h":"canary","h2":)" + nested_arrays(70) + "}"), "canary"));
}

TEST_CASE("headers of exactly the limit pass and one byte more is refused") {
  // Name length, name, kind, text length: 1 + 1 + 1 + 4 bytes besides the text.
  const auto text = [](std::size_t size) { return R"({"a":")" + std::string(size - 7, 'x') + R"("})"; };
  CHECK_FALSE(refused(mapped(text(1000), 1000)));
  CHECK(has(mapped(text(1001), 1000), "1000 bytes"));
  std::string nulls = R"({"a":[null)";
  for (int i = 1; i < 993; ++i) nulls += ",null";
  CHECK_FALSE(refused(mapped(nulls + "]}", 1000)));
  CHECK(refused(mapped(nulls + ",null]}", 1000)));
}

TEST_CASE("one builder serves many events, small after large") {
  field_table table;
  std::string many = R"({"a":[0)";
  for (int i = 0; i < 10'000; ++i) many += ",1";
  many += "]}";
  for (int i = 0; i < 3; ++i) {
    REQUIRE(build(table, many, 131'000).has_value());
    CHECK(build(table, many, 131'000)->num_entries == 5);
    CHECK_FALSE(build(table, R"({"a":1e400})", 131'000).has_value());
    CHECK(build(table, R"({"a":1,"b":2})", 131'000)->num_entries == 6);
    CHECK(build(table, "{}", 131'000)->num_entries == 4);
  }
}

TEST_CASE("CC and BCC are lists of routing keys and nothing else") {
  CHECK(mapped(R"({"CC":["a","b"],"BCC":[]})") == R"(BCC:A[],CC:A[S"a",S"b"])");
  CHECK(mapped(R"({"cc":1,"b":{"CC":2}})") == "b:F{CC:l2},cc:l1");
  for (const char* value : {"1", "null", "\"a\"", "{}", "true", "1.5", "[1]", "[null]", "[[\"a\"]]", "[{}]"})
    CHECK(mapped(R"({"CC":)" + std::string(value) + "}") ==
          "error: header \"CC\" is not a list of routing keys, as RabbitMQ requires");
  CHECK(mapped(R"({"BCC":"a"})") ==
        "error: header \"BCC\" is not a list of routing keys, as RabbitMQ requires");
  CHECK(mapped(R"({"CCC":{"CC":2},"b":[{"BCC":3}]})") == "CCC:F{CC:l2},b:A[F{BCC:l3}]");
}

TEST_CASE("a header that is RabbitMQ's own is left out, whatever its value, and nothing else is") {
  std::string deep = nested_arrays(200);
  deep = deep.substr(deep.find('['), deep.rfind(']') + 1 - deep.find('['));
  for (const std::string& value :
       {std::string("[1,2]"), std::string("null"), std::string("true"), std::string("1.5"),
        std::string("\"x\""), std::string("[]"), std::string("{}"),
        std::string(R"([{"count":"many","queue":[{"x":1}]},2])"), std::string("99999999999999999999"),
        std::string(R"({"":1,"CC":1,"x-death":[{}]})"), deep, '"' + std::string(200'000, 'x') + '"'}) {
    CAPTURE(value.substr(0, 100));
    CHECK(mapped(R"({"x-death":)" + value + "}") == "");
    CHECK(mapped(R"({"a":1,"x-death":)" + value + R"(,"b":[{"c":2}]})") == "a:l1,b:A[F{c:l2}]");
  }
  CHECK(mapped(R"({"x-first-death-queue":"q","x-opt-deaths":[],"x-delay":5})") == "x-delay:l5");
  CHECK(mapped(R"({"a":{"x-death":[1]},"X-Death":1})") == "X-Death:l1,a:F{x-death:A[l1]}");
  CHECK(mapped(R"({"x-death":1,"b":1,"x-death":{"b":2}})") == "b:l1");
  CHECK(has(mapped(R"({"x-death":[1],"b":99999999999999999999})"), "header \"b\""));
  // The JSON parser ends at such a number, so the rest of the headers cannot be known.
  CHECK(has(mapped(R"({"x-death":1e400,"b":1})"), "header \"x-death\" has a number beyond the range"));
}

TEST_CASE("a dead letter is without RabbitMQ's own headers, too") {
  field_table table;
  outboxd::message m;
  m.dead_reason = "why";
  m.headers = R"({"x-death":[1,2],"tenant":"x"})";
  const auto built = table.build(m, 131'000);
  REQUIRE(built.has_value());
  CHECK(built->num_entries == 7);
}

TEST_CASE("what a format adds replaces the row's header, which replaces the route's default") {
  field_table table;
  outboxd::message m;
  m.aggregate_type = "order";
  m.aggregate_id = "42";
  m.seq = 7;
  m.occurred_at = "now";
  m.format_headers = {{"ce-id", std::string("ours")}};
  m.default_headers = {{"tenant", std::string("route's")},
                       {"n", std::int64_t{3}},
                       {"f", 0.5},
                       {"b", true},
                       {"seq", std::string("no")}};
  const auto text = [&](std::string_view headers) {
    m.headers = headers;
    auto built = table.build(m, 1000);
    REQUIRE(built);
    std::string bytes(1000, '\0');
    std::size_t offset = 0;
    REQUIRE(amqp_encode_table({bytes.size(), bytes.data()}, &*built, &offset) == 0);
    return wire::table_text(std::string_view(bytes).substr(4, offset - 4));
  };
  const std::string ours = "{" + std::string(standard) + ",ce-id:S\"ours\"";
  CHECK(text(R"({"ce-id":"row's","tenant":"row's"})") == ours + ",tenant:S\"row's\",n:l3,f:d0.500000,b:t1}");
  CHECK(text("{}") == ours + ",tenant:S\"route's\",n:l3,f:d0.500000,b:t1}");
  m.default_headers.clear();
  CHECK(text("{}") == ours + "}");
}

}  // namespace amqp_field_table_test
