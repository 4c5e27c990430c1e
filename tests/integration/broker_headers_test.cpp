// Headers that are RabbitMQ's own: an event may say what it likes in them, and no queue crashes over it.
#include <doctest/doctest.h>

#include "settings_file.hpp"
#include "stage.hpp"

namespace outboxd::test::broker_headers_test {
namespace {

// A queue in which messages expire at once, and one that takes them then.
struct short_lived_queue {
  short_lived_queue(const stage& on, queue_type type)
      : name{fmt::format("{}-{}", on.queue(), name_of(type))}, expired{name + "-expired"} {
    broker session;
    session.declare_queue(expired);
    session.declare_queue(
        name, type,
        {{"x-message-ttl", 1}, {"x-dead-letter-exchange", ""}, {"x-dead-letter-routing-key", expired}});
    session.bind(name, "outbox", name);
  }
  ~short_lived_queue() {
    broker session;
    session.delete_queue(name);
    session.delete_queue(expired);
  }
  short_lived_queue(const short_lived_queue&) = delete;
  short_lived_queue& operator=(const short_lived_queue&) = delete;
  std::string name;
  std::string expired;
};

// Values of x-death, as SQL expressions; $queue stands for the queue's name.
const std::vector<std::string> shapes{
    "'[1, 2]'",
    "'\"text\"'",
    "'5'",
    "'null'",
    "'{}'",
    "'[]'",
    "'[null]'",
    "'[{}]'",
    "'[{}, {}]'",
    "'[[{\"queue\": []}]]'",
    "'[{\"count\": 1}, \"x\"]'",
    "'[{\"queue\": \"$queue\", \"reason\": \"expired\"}]'",
    "'[{\"queue\": \"$queue\", \"reason\": \"expired\", \"count\": \"many\", \"time\": \"now\", "
    "\"exchange\": 1, "
    "\"routing-keys\": 5}]'",
    "'[{\"queue\": \"$queue\", \"reason\": \"expired\", \"count\": 1.5}, 7]'",
    "'[{\"queue\": 1, \"reason\": {}, \"count\": null}]'",
    "(repeat('[', 200) || repeat(']', 200))",
    "(SELECT jsonb_agg(jsonb_build_object('count', n)) FROM generate_series(1, 20000) AS n)",
};

std::string with_queue(std::string text, const std::string& queue) {
  constexpr std::string_view word = "$queue";
  for (auto at = text.find(word); at != std::string::npos; at = text.find(word))
    text.replace(at, word.size(), queue);
  return text;
}

void insert(database& session, const std::string& aggregate, const std::string& queue,
            const std::string& headers) {
  session.exec(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload, headers)"
      " VALUES ('order', $1, $2, '{}', " +
          headers + ")",
      {aggregate, queue});
}

// What RabbitMQ says of a message that died once, and nothing that an event says.
void check_headers(const delivery& got, const std::string& queue) {
  const auto& headers = got.properties.headers;
  CAPTURE(headers.dump());
  const auto deaths = headers.value("x-death", nlohmann::json());
  REQUIRE(deaths.is_array());
  REQUIRE(deaths.size() == 1);
  CHECK(deaths[0].value("queue", "") == queue);
  CHECK(deaths[0].value("reason", "") == "expired");
  CHECK(deaths[0]["count"] == 1);
  CHECK(headers.value("x-first-death-queue", "") == queue);
  CHECK_FALSE(headers.contains("x-received-from"));
  CHECK_FALSE(headers.contains("x-opt-deaths"));
  CHECK(headers.value("tenant", "") == "acme");
}

}  // namespace

TEST_CASE("no x-death of an event makes a queue crash, and none arrives") {
  for (const auto type : {queue_type::classic, queue_type::quorum}) {
    CAPTURE(name_of(type));
    const stage on;
    const short_lived_queue to{on, type};
    auto session = on.connect();
    relay running{on};
    running.await_connected();
    consumer reader{to.expired};
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      CAPTURE(shapes[i]);
      const auto carrier = fmt::format("carrier-{}", i);
      insert(session, carrier, to.name,
             fmt::format("'{{\"tenant\": \"acme\", \"x-first-death-queue\": 5, \"x-received-from\": [1],"
                         " \"x-opt-deaths\": [1]}}'::jsonb || jsonb_build_object('x-death', {}::jsonb)",
                         with_queue(shapes[i], to.name)));
      insert(session, carrier, to.name, "'{\"tenant\": \"acme\"}'");
      insert(session, "other", to.name, "'{\"tenant\": \"acme\"}'");
      for (const auto& got : reader.take(3, time_limit)) check_headers(got, to.name);
    }
    on.await_drained();
    CHECK(on.count("published") == static_cast<std::int64_t>(3 * shapes.size()));
    CHECK(session.number("SELECT count(*) FROM outbox.event WHERE last_error IS NOT NULL") == 0);
    running.stop();
  }
}

TEST_CASE("outboxd route tells which headers are left out") {
  const auto ask = [](arguments more) {
    more.insert(more.begin(), {"route", "--event-type", "paid", "--header", "x-death=x", "--header", "a=b"});
    return run_outboxd(more);
  };
  const auto shown = ask({});
  REQUIRE_MESSAGE(shown.exited(0), shown.text());
  CHECK(shown.says("left out, because RabbitMQ itself writes them:"));
  const auto told = nlohmann::json::parse(ask({"--json"}).text());
  CHECK(told["left_out"] == nlohmann::json::array({"x-death"}));
  CHECK(told["headers"]["a"] == "b");
  CHECK_FALSE(told["headers"].contains("x-death"));
}

TEST_CASE("a route that sets a header of RabbitMQ's own is refused") {
  const settings_file file{"[[route]]\nname = 'all'\nheaders = { x-death = 'x' }\n"};
  arguments words{"route", "--event-type", "paid"};
  for (const auto& one : file.flags()) words.push_back(one);
  const auto refused = run_outboxd(words);
  CHECK(refused.exited(2));
  CHECK(refused.says("is a header that RabbitMQ itself writes; take another name"));
}

}  // namespace outboxd::test::broker_headers_test
