// The selectors of dead, replay and their refusals.
#include <doctest/doctest.h>
#include <fmt/ranges.h>

#include <map>
#include <random>
#include <set>

#include "core/glob.hpp"
#include "operator_desk.hpp"
#include "stage.hpp"

namespace outboxd::test::selector_test {
namespace {

void refused(const operator_desk& desk, const arguments& words, int status,
             const std::vector<std::string>& said) {
  const auto result = desk.run(words);
  CAPTURE(fmt::format("{}", fmt::join(words, " ")));
  CAPTURE(result.text());
  CHECK(result.exited(status));
  CHECK(result.lines.size() == 1);
  for (const auto& part : said) CHECK_MESSAGE(result.says(part), "it does not say: ", part);
}

}  // namespace

TEST_CASE("each selector selects what it says, alternatives add up and different ones narrow") {
  const stage on;
  const operator_desk desk{on};
  auto session = on.connect();
  const auto add = [&](const std::string& type, const std::string& id, const std::string& event,
                       const std::string& ago) {
    return session.value(
        "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload, status, exception,"
        " created_at) VALUES ($1, $2, $3, '{}', 'dead', 'dead', now() - $4::interval) RETURNING id",
        {type, id, event, ago});
  };
  const auto a = add("order", "42", "order.created", "3 h");
  const auto b = add("order", "42", "order.paid", "2 h");
  const auto c = add("order", "a/b \"c\" \\d {e}, 'f'", "order.created", "1 h");
  const auto d = add("invoice", "42", "it's {0} \"odd\", \\ NULL", "1 min");
  const auto selected = [&](const arguments& selectors) {
    arguments words{"dead", "list"};
    words.insert(words.end(), selectors.begin(), selectors.end());
    std::set<std::string> ids;
    for (const auto& one : desk.json(words)) ids.insert(one.at("id"));
    arguments dry{"dead", "discard", "--dry-run"};
    dry.insert(dry.end(), selectors.begin(), selectors.end());
    if (!selectors.empty()) CHECK(desk.json(dry).at("matched") == ids.size());
    return ids;
  };
  using ids = std::set<std::string>;
  CHECK(selected({}) == ids{a, b, c, d});
  CHECK(selected({"--all"}) == ids{a, b, c, d});
  CHECK(selected({"--id", a}) == ids{a});
  CHECK(selected({"--id", a, "--id", d}) == ids{a, d});
  CHECK(selected({"--id", "00000000-0000-0000-0000-000000000000"}) == ids{});
  CHECK(selected({"--event-type", "order.created"}) == ids{a, c});
  CHECK(selected({"--event-type", "order.%"}) == ids{});
  CHECK(selected({"--event-type", "it's {0} \"odd\", \\ NULL"}) == ids{d});
  CHECK(selected({"--aggregate", "order/42"}) == ids{a, b});
  CHECK(selected({"--aggregate", "order/a/b \"c\" \\d {e}, 'f'"}) == ids{c});
  CHECK(selected({"--aggregate", "order/42", "--aggregate", "invoice/42"}) == ids{a, b, d});
  CHECK(selected({"--aggregate", "order/42", "--event-type", "order.paid"}) == ids{b});
  CHECK(selected({"--since", "90m"}) == ids{c, d});
  CHECK(selected({"--until", "90m"}) == ids{a, b});
  CHECK(selected({"--since", "150m", "--until", "30m"}) == ids{b, c});
  const auto created = session.value(
      "SELECT to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US') FROM outbox.event WHERE id "
      "= "
      "$1::uuid",
      {b});
  CHECK(selected({"--since", created}) == ids{b, c, d});  // inclusive, and in UTC
  CHECK(selected({"--until", created}) == ids{a});
  CHECK(selected({"--since", created + "+00", "--until", "tomorrow"}) == ids{b, c, d});
  CHECK(session.number("SELECT count(*) FROM outbox.event WHERE status = 'dead'") == 4);
}

TEST_CASE("an exchange and a routing key select by where the event goes, as far as its row tells") {
  const stage on;
  const operator_desk desk{on};
  auto session = on.connect();
  const auto add = [&](const std::string& name, const std::string& values) {
    session.exec(
        "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload, status, exception,"
        " last_error_code, failed_exchange, failed_routing_key, replay_exchange, replay_routing_key, "
        "exchange,"
        " routing_key) VALUES ('order', '" +
        name + "', 'order.created', '{}', 'dead', 'dead', " + values + ")");
  };
  add("plain", "'returned', NULL, NULL, NULL, NULL, NULL, NULL");
  add("own", "'returned', NULL, NULL, NULL, NULL, 'own', 'own.key'");
  add("replayed", "'returned', NULL, NULL, 'again', 'again.key', 'own', 'own.key'");
  add("failed", "'refused', 'failed', 'failed.key', 'again', 'again.key', 'own', 'own.key'");
  add("unnamed", "'refused', '', '', NULL, NULL, 'own', 'own.key'");
  using names = std::set<std::string>;
  const auto selected = [&](const arguments& selectors) {
    arguments words{"dead", "list"};
    words.insert(words.end(), selectors.begin(), selectors.end());
    names out;
    for (const auto& one : desk.json(words)) out.insert(one.at("aggregate_id"));
    arguments dry{"dead", "retry", "--dry-run"};
    dry.insert(dry.end(), selectors.begin(), selectors.end());
    CHECK(desk.json(dry).at("matched") == out.size());
    return out;
  };
  CHECK(selected({"--exchange", "outbox"}) == names{"plain"});
  CHECK(selected({"--exchange", "own"}) == names{"own"});
  CHECK(selected({"--exchange", "again"}) == names{"replayed"});
  CHECK(selected({"--exchange", "fail*"}) == names{"failed"});
  CHECK(selected({"--exchange", ""}) == names{"unnamed"});
  CHECK(selected({"--exchange", "o*", "--exchange", "again"}) == names{"plain", "own", "replayed"});
  CHECK(selected({"--routing-key", "order.created"}) == names{"plain"});
  CHECK(selected({"--routing-key", "*.key"}) == names{"own", "replayed", "failed"});
  CHECK(selected({"--exchange", "o*", "--routing-key", "*.key"}) == names{"own"});
  CHECK(selected({"--error-code", "refused", "--routing-key", "*.key"}) == names{"failed"});
  CHECK(desk.json({"dead", "discard", "--exchange", "own", "--routing-key", "own.*"}).at("changed") == 1);
  CHECK(session.value("SELECT selection FROM outbox.audit") == "--exchange own --routing-key 'own.*'");
  session.exec("UPDATE outbox.event SET status = 'published', exception = NULL, published_at = now()");
  CHECK(desk.json({"replay", "--exchange", "fail*", "--dry-run"}).at("matched") == 1);
  CHECK(desk.json({"replay", "--error-code", "refused", "--dry-run"}).at("matched") == 2);
}

TEST_CASE("PostgreSQL selects for a glob what the relay takes it for") {
  const stage on;
  const operator_desk desk{on};
  auto session = on.connect();
  std::mt19937 random(4711);  // NOLINT: the same each time
  const auto some = [&](const std::vector<std::string>& letters) {
    std::string out;
    for (auto left = random() % 5; left > 0; --left) out += letters[random() % letters.size()];
    return out;
  };
  const std::vector<std::string> plain{"a", "A", "%", "_", "\\", "é", "e\u0301", "😀", "\"", "\n", "'", "{"};
  auto letters = plain;
  for (int i = 0; i < 6; ++i) letters.insert(letters.end(), {"*", "?"});
  std::map<std::string, std::string> keys;  // by id
  for (int i = 0; i < 300; ++i) {
    const auto key = some(plain);
    keys[session.value(
        "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload, status,"
        " exception, routing_key) VALUES ('order', '1', 'a', '{}', 'dead', 'dead', $1)"
        " RETURNING id",
        {key})] = key;
  }
  std::size_t taken = 0;
  for (int i = 0; i < 60; ++i) {
    const glob pattern(some(letters));
    std::set<std::string> expected;
    for (const auto& [id, key] : keys)
      if (pattern.matches(key)) expected.insert(id);
    std::set<std::string> found;
    for (const auto& one : desk.json({"dead", "list", "--limit", "1000", "--routing-key", pattern.text()}))
      found.insert(one.at("id"));
    CHECK_MESSAGE(found == expected, pattern.text());
    taken += found.size();
  }
  CHECK(taken > 300);
}

TEST_CASE(
    "a command that changes events without a selector or with a bad one is refused and told what to give") {
  const stage on;
  const operator_desk desk{on};
  auto session = on.connect();
  add_dead(session, on);
  for (const arguments& command :
       {arguments{"dead", "retry"}, arguments{"dead", "discard"}, arguments{"replay"}}) {
    const auto with = [&](const arguments& more) {
      arguments all = command;
      all.insert(all.end(), more.begin(), more.end());
      return all;
    };
    refused(desk, command, 2,
            {"--id", "--event-type", "--aggregate", "--since", "--until", "--all", "--dry-run"});
    refused(desk, with({"--dry-run"}), 2, {"--all"});
    refused(desk, with({"--id", "4711"}), 2, {"--id '4711' is not a UUID", "events list"});
    refused(desk, with({"--id", ""}), 2, {"--id '' is not a UUID"});
    refused(desk, with({"--aggregate", "order"}), 2, {"--aggregate 'order'", "order/42"});
    refused(desk, with({"--aggregate", "order/"}), 2, {"--aggregate 'order/'"});
    refused(desk, with({"--aggregate", "/42"}), 2, {"--aggregate '/42'"});
    refused(desk, with({"--event-type", ""}), 2, {"--event-type is empty"});
    refused(desk, with({"--since", "the other day"}), 2, {"--since 'the other day'", "2h"});
    refused(desk, with({"--until", ""}), 2, {"--until ''"});
    refused(desk, with({"--all", "--since", "1h"}), 2, {"--all"});
    refused(desk, with({"--id"}), 2, {"--id"});
    refused(desk, with({"--al"}), 2, {"--al"});
  }
  refused(desk, {"dead", "list", "--event-type", "\xff\xfe"}, 2, {"UTF-8"});
  refused(desk, {"dead"}, 2, {"'dead' needs one of: list, show, retry, discard"});
  refused(desk, {"dead", "lsit"}, 2, {"unknown command 'dead lsit'", "list, show, retry, discard"});
  refused(desk, {"dead", "--lsit", "secret"}, 2, {"'--lsit'"});
  refused(desk, {"dead", "show"}, 2, {"--id"});
  refused(desk, {"dead", "list", "--limit", "none"}, 2, {"--limit 'none'", "1 to 100000"});
  refused(desk, {"dead", "list", "--limit", "0"}, 2, {"--limit '0'"});
  CHECK(on.count("dead") == 1);
}

TEST_CASE("an operator's command names the server, schema or privilege that it lacks and exits with 1") {
  const stage on;
  const operator_desk desk{on};
  refused(desk, {"dead", "list", "--schema", "nowhere"}, 1,
          {"nowhere.event", "outboxd migrate", "outbox.schema"});
  refused(desk, {"prune", "--older-than", "7d", "--schema", "nowhere"}, 1, {"nowhere", "outboxd migrate"});
  const login writer{"outbox_writer"};
  for (const arguments& command : {arguments{"dead", "list"}, arguments{"dead", "retry", "--all"},
                                   arguments{"replay", "--all"}, arguments{"prune", "--older-than", "7d"}}) {
    arguments as_writer = command;
    as_writer.insert(as_writer.end(), {"--database-url", writer.url(on)});
    refused(desk, as_writer, 1, {"permission denied", "outbox_operator"});
    arguments away = command;
    away.insert(away.end(), {"--database-url", "postgresql://u:canary-s3cret@127.0.0.1:1/d"});
    refused(desk, away, 1, {"cannot connect to", "127.0.0.1", "refused"});
    CHECK_FALSE(desk.run(away).says("canary-s3cret"));
  }
  on.connect().exec("DROP FUNCTION outbox.replay");  // as in a schema of an earlier outboxd
  on.add_events(1);
  on.connect().exec("UPDATE outbox.event SET status = 'published'");
  refused(desk, {"replay", "--all"}, 1, {"replay", "outboxd migrate"});
}

}  // namespace outboxd::test::selector_test
