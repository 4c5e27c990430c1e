// Rows at and beyond what AMQP can carry: each is delivered as it is, or dead at once with a reason that
// names the field and the limit, or refused by PostgreSQL; and none stops another.
#include <doctest/doctest.h>
#include <fmt/ranges.h>

#include "patient_relay.hpp"
#include "stage.hpp"
#include "support/suspended_queue.hpp"

namespace outboxd::test::bad_rows_test {
namespace {

// RabbitMQ's default frame_max, which a broker of tools/services offers; a body frame has 8 bytes of its own.
constexpr int frame_max = 131'072;
constexpr int largest_body_frame = frame_max - 8;
constexpr int max_message_size = 400'000;

enum class fate { delivered, dead, refused };

struct row {
  std::string name;
  std::string column;
  std::string value;  // an SQL expression; $queue stands for the queue's name
  fate expected;
  std::vector<std::string> words = {};  // dead: in last_error; refused: the SQLSTATE
};

const std::vector<row> rows{
    {"routing key of 0 bytes", "routing_key", "''", fate::delivered},
    {"routing key of 255 bytes", "routing_key", "rpad('$queue.', 255, 'k')", fate::delivered},
    {"routing key of 256 bytes",
     "routing_key",
     "repeat('k', 256)",
     fate::dead,
     {"routing key", "256", "255"}},
    {"routing key of 512 bytes",
     "routing_key",
     "repeat('k', 512)",
     fate::dead,
     {"routing key", "512", "255"}},
    {"routing key with a letter that ends at 255", "routing_key", "rpad('$queue.', 253, 'k') || 'ü'",
     fate::delivered},
    {"routing key with a letter across 255",
     "routing_key",
     "repeat('k', 254) || 'ü'",
     fate::dead,
     {"routing key", "256", "255"}},
    {"exchange of 255 bytes", "exchange", "rpad('$queue', 255, 'x')", fate::delivered},
    {"exchange of 256 bytes", "exchange", "repeat('x', 256)", fate::dead, {"exchange", "256", "255"}},
    {"exchange of 512 bytes", "exchange", "repeat('x', 512)", fate::dead, {"exchange", "512", "255"}},
    {"exchange with a letter across 255",
     "exchange",
     "repeat('x', 254) || 'ü'",
     fate::dead,
     {"exchange", "256", "255"}},
    {"header name of 0 bytes", "headers", R"('{"": 1}')", fate::dead, {"header", "empty name"}},
    {"header name of 255 bytes", "headers", "jsonb_build_object(repeat('n', 255), 1)", fate::delivered},
    {"header name of 256 bytes",
     "headers",
     "jsonb_build_object(repeat('n', 256), 1)",
     fate::dead,
     {"header", "256", "255"}},
    {"header name of 512 bytes",
     "headers",
     "jsonb_build_object(repeat('n', 512), 1)",
     fate::dead,
     {"header", "512", "255"}},
    {"header name with a letter across 255",
     "headers",
     "jsonb_build_object(repeat('n', 254) || 'ü', 1)",
     fate::dead,
     {"header", "256", "255"}},
    {"inner header name of 256 bytes",
     "headers",
     "jsonb_build_object('outer', jsonb_build_object(repeat('n', 256), 1))",
     fate::dead,
     {"header \"outer\"", "256", "255"}},
    {"header CC", "headers", R"('{"CC": ["audit"]}')", fate::delivered},
    {"header CC that is no list", "headers", R"('{"CC": "audit"}')", fate::dead, {"header \"CC\"", "list"}},
    {"header BCC with a number", "headers", R"('{"BCC": [1]}')", fate::dead, {"header \"BCC\"", "list"}},
    {"header x-death", "headers", R"('{"x-death": [{"count": 1, "queue": "q"}]}')", fate::delivered},
    {"header x-death with an integer beyond 64 bits", "headers", R"('{"x-death": 9223372036854775808}')",
     fate::delivered},
    {"headers of every type", "headers",
     R"('{"null": null, "yes": true, "no": false, "text": "ü", )"
     R"("none": "", "list": [], "object": {}, "half": 0.5}')",
     fate::delivered},
    {"integers at the edges of 64 bits and beyond 53", "headers",
     R"('{"least": -9223372036854775808, "most": 9223372036854775807, "odd": 9007199254740993}')",
     fate::delivered},
    {"integer beyond 64 bits",
     "headers",
     R"('{"most": 9223372036854775808}')",
     fate::dead,
     {"header \"most\"", "64 bits"}},
    {"number beyond a double", "headers", R"('{"huge": 1e400}')", fate::dead, {"header \"huge\"", "64 bits"}},
    {"nested 60 deep", "headers", R"((repeat('{"deep":', 60) || '1' || repeat('}', 60))::jsonb)",
     fate::delivered},
    {"nested 200 deep",
     "headers",
     R"((repeat('{"deep":', 200) || '1' || repeat('}', 200))::jsonb)",
     fate::dead,
     {"header \"deep\"", "nested", "64"}},
    {"no headers", "headers", "'{}'", fate::delivered},
    {"a key twice", "headers", R"('{"a": 1, "a": 2}')", fate::delivered},
    {"headers larger than a frame",
     "headers",
     "jsonb_build_object('big', repeat('b', 131072))",
     fate::dead,
     {"headers", "frame"}},
    {"event type of 255 bytes", "event_type", "rpad('$queue.', 255, 't')", fate::delivered},
    {"event type of 256 bytes", "event_type", "repeat('t', 256)", fate::dead, {"routing key", "256", "255"}},
    {"body of 0 bytes", "payload", "''", fate::delivered},
    {"body of a frame but one byte", "payload", fmt::format("repeat('b', {})", largest_body_frame - 1),
     fate::delivered},
    {"body of a frame", "payload", fmt::format("repeat('b', {})", largest_body_frame), fate::delivered},
    {"body of a frame and a byte", "payload", fmt::format("repeat('b', {})", largest_body_frame + 1),
     fate::delivered},
    {"body of the limit", "payload", fmt::format("repeat('b', {})", max_message_size), fate::delivered},
    {"body over the limit",
     "payload",
     fmt::format("repeat('b', {})", max_message_size + 1),
     fate::dead,
     {"body", "400001", "amqp.max_message_size", "400000"}},
    {"headers null", "headers", "NULL", fate::delivered},
    {"headers that are no object", "headers", "'null'", fate::refused, {"23514"}},
    {"headers that are a list", "headers", "'[]'", fate::refused, {"23514"}},
    {"a zero character", "headers", R"('{"a": "\u0000"}')", fate::refused, {"22P05"}},
    {"no aggregate type", "aggregate_type", "''", fate::refused, {"23514"}},
    {"no event type", "event_type", "''", fate::refused, {"23514"}},
    {"fewer than no attempts", "attempts", "-1", fate::refused, {"23514"}},
};

std::string with_queue(std::string text, const stage& on) {
  constexpr std::string_view word = "$queue";
  for (auto at = text.find(word); at != std::string::npos; at = text.find(word))
    text.replace(at, word.size(), on.queue());
  return text;
}

// One event of the aggregate, with this column set to this expression.
void insert(database& session, const stage& on, const std::string& aggregate, const std::string& column,
            const std::string& value) {
  std::map<std::string, std::string> columns{{"aggregate_type", "'order'"},
                                             {"aggregate_id", "'" + aggregate + "'"},
                                             {"event_type", "'" + on.key() + "'"},
                                             {"payload", "'p'"}};
  columns[column] = with_queue(value, on);
  std::vector<std::string> names;
  std::vector<std::string> values;
  for (const auto& [name, expression] : columns) {
    names.push_back(name);
    values.push_back(expression);
  }
  session.exec(fmt::format("INSERT INTO outbox.event ({}) VALUES ({})", fmt::join(names, ", "),
                           fmt::join(values, ", ")));
}

void check_row(database& session, const row& one) {
  const auto found = session.exec(
      "SELECT status, attempts, last_error, published_at FROM outbox.event"
      " WHERE aggregate_id = $1 AND headers->>'place' IS NULL",
      {one.name});
  REQUIRE_MESSAGE(found.size() == 1, one.name);
  const auto& columns = found.front();
  if (one.expected == fate::delivered) {
    CHECK_MESSAGE(columns[0] == "published", one.name, ": ", columns[2].value_or(""));
    return;
  }
  CHECK_MESSAGE(columns[0] == "dead", one.name);
  CHECK(columns[1] == "1");
  CHECK_FALSE(columns[3].has_value());
  for (const auto& words : one.words)
    CHECK_MESSAGE(columns[2].value_or("").find(words) != std::string::npos, one.name, ": ",
                  columns[2].value_or(""));
}

}  // namespace

TEST_CASE("every odd row is delivered as it is or dead at once with its reason, and stops nobody") {
  const stage on{{.payload = "text"}};
  const std::string long_exchange = on.queue() + std::string(255 - on.queue().size(), 'x');
  broker topology;
  topology.declare_exchange(long_exchange);
  topology.bind(on.queue(), long_exchange, "#");
  topology.bind(on.queue(), "outbox", "");

  auto session = on.connect();
  std::size_t delivered = 0;
  std::size_t dead = 0;
  for (const auto& one : rows) {
    if (one.expected == fate::refused) {
      try {
        insert(session, on, one.name, one.column, one.value);
        FAIL_CHECK(one.name << " was taken");
      } catch (const database_error& refused) {
        CHECK_MESSAGE(refused.sqlstate == one.words.front(), one.name);
      }
      continue;
    }
    insert(session, on, one.name, "headers", R"('{"place": "before"}')");
    insert(session, on, one.name, one.column, one.value);
    insert(session, on, one.name, "headers", R"('{"place": "behind"}')");
    delivered += one.expected == fate::delivered ? 3 : 2;
    dead += one.expected == fate::dead ? 1 : 0;
  }
  relay running{on, {"--amqp-max-message-size", std::to_string(max_message_size)}};
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  CHECK(report.delivered == delivered);
  CHECK(report.dead == dead);
  for (const auto& one : rows)
    if (one.expected != fate::refused) check_row(session, one);
  running.stop();
  for (const auto& line : running.all_lines())
    CHECK_MESSAGE(line.find("trying again") == std::string::npos, line);
  topology.delete_exchange(long_exchange);
}

TEST_CASE("an exchange of 0 bytes is the default exchange, which routes to the queue that the key names") {
  const stage on;
  on.connect().exec(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload, exchange, routing_key)"
      " VALUES ('order', '1', 'x', '{}', '', $1)",
      {on.queue()});
  relay running{on};
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  CHECK(report.delivered == 1);
  running.stop();
}

TEST_CASE("headers that just fit one frame go through, and with one byte more the event is dead") {
  const stage on;
  auto session = on.connect();
  session.exec(
      fmt::format("INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload, headers)"
                  " SELECT 'order', n::text, $1, '{{}}', jsonb_build_object('big', repeat('b', n))"
                  " FROM generate_series({}, {}) AS n",
                  frame_max - 600, frame_max - 200),
      {on.key()});
  relay running{on};
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  CHECK(report.delivered > 0);
  CHECK(report.dead > 0);
  CHECK(session.value("SELECT max(aggregate_id::int) FILTER (WHERE status = 'published') + 1"
                      " = min(aggregate_id::int) FILTER (WHERE status = 'dead') FROM outbox.event") == "t");
  running.stop();
}

TEST_CASE("bodies of several megabytes arrive whole") {
  const stage on{{.payload = "text"}};
  auto session = on.connect();
  for (const int size : {2 * largest_body_frame, 2 * largest_body_frame + 1, 5'000'000, 16'000'000}) {
    session.exec(
        "SELECT outbox.emit('order', size::text, $2, left(repeat('0123456789', size / 10 + 1), size))"
        " FROM (SELECT $1::int AS size) AS body",
        {std::to_string(size), on.key()});
  }
  relay running{on};
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  CHECK(report.delivered == 4);
  running.stop();
}

TEST_CASE("the header CC routes to further keys, too") {
  const stage on;
  broker topology;
  const std::string second = on.queue() + "-second";
  topology.declare_queue(second);
  topology.bind(second, "outbox", second);
  on.connect().exec(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload, headers)"
      " VALUES ('order', '1', $1, '{}', jsonb_build_object('CC', jsonb_build_array($2::text))),"
      " ('order', '2', $1, '{}', '{\"CC\": \"no list\"}')",
      {on.key(), second});
  relay running{on};
  on.await_drained();
  CHECK(topology.message_count(on.queue()) == 1);
  CHECK(topology.message_count(second) == 1);
  CHECK(on.count("dead") == 1);
  running.stop();
  topology.delete_queue(second);
}

TEST_CASE("a refused INSERT says which column is wrong") {
  const stage on;
  auto session = on.connect();
  const auto refusal = [&](const std::string& values) -> std::string {
    try {
      session.exec(
          "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload, headers, seq)"
          " VALUES " +
          values);
    } catch (const database_error& refused) {
      CHECK(refused.sqlstate == "23514");
      return refused.what();
    }
    return "";
  };
  const auto says = [&](const std::string& values, std::string_view words) {
    const auto text = refusal(values);
    CHECK_MESSAGE(text.find(words) != std::string::npos, text);
  };
  says(R"(('', '1', 't', '1', '{}', DEFAULT))", "the aggregate_type of an event is empty");
  says(R"(('o', '', 't', '1', '{}', DEFAULT))", "the aggregate_id of an event is empty");
  says(R"(('o', '1', '', '1', '{}', DEFAULT))", "the event_type of an event is empty");
  says(R"(('o', '1', 't', '1', '[1]', DEFAULT))", "but here of type array");
  says(R"(('o', '1', 't', '1', '{}', -9223372036854775808))", "the seq of an event is above -92233720");
  CHECK(refusal(R"(('o', '1', 't', '1', '{}', DEFAULT))") == "");
}

TEST_CASE("rows that are changed, deleted or truncated while they are in a relay's memory disturb nobody") {
  const stage on;
  auto session = on.connect();
  session.exec("SET lock_timeout = '60s'");
  patient_relay running{on};
  on.add_events(1, 100);
  on.await_drained();
  // Nothing is confirmed, hence nothing is marked, while `change` is done to what was sent.
  const auto while_in_memory = [&](const auto& change) {
    const suspended_queue silent{on.queue()};
    on.add_events(40, 100);
    eventually(
        "the relay has sent events that nobody confirms",
        [&] { return metric(running, "outboxd_confirms_in_flight") >= 100; }, time_limit);
    change();
  };

  while_in_memory([&] {
    session.exec("DELETE FROM outbox.event WHERE seq % 3 = 0 AND status = 'pending'");
    session.exec(
        "UPDATE outbox.event SET headers = '{\"changed\": true}' WHERE seq % 3 = 1 AND status = 'pending'");
    CHECK(on.count("pending") > 1'000);
  });
  on.await_drained();
  CHECK(session.number("SELECT count(*) FROM outbox.event WHERE status <> 'published'") == 0);

  // After the second one, what comes has a lower seq than what was read.
  for (const std::string how : {"TRUNCATE outbox.event", "TRUNCATE outbox.event RESTART IDENTITY"}) {
    CAPTURE(how);
    while_in_memory([&] {
      session.exec(how);
      on.add_events(2, 100);
    });
    on.await_drained();
    CHECK(on.count("published") == 200);
  }
  running.stop();
}

}  // namespace outboxd::test::bad_rows_test
