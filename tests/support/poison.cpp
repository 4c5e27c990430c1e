#include "support/poison.hpp"

#include <fmt/format.h>

namespace outboxd::test {
namespace {

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
  return text;
}

poison routed(const std::string& exchange, const std::string& key, const std::string& status,
              const std::string& code) {
  return {fmt::format("exchange {} routing key {}", exchange, key).substr(0, 100),
          {{"exchange", exchange}, {"routing_key", key}},
          status,
          code};
}

poison headed(const std::string& headers, const std::string& status, const std::string& code = {}) {
  return {fmt::format("headers {}", headers).substr(0, 100), {{"headers", headers}}, status, code};
}

poison with(const std::string& column, const std::string& value, const std::string& status,
            const std::string& code = {}) {
  return {fmt::format("{} {}", column, value).substr(0, 100),
          {{"routing_key", "$key"}, {column, value}},
          status,
          code};
}

void add_routes(std::vector<poison>& to) {
  // RabbitMQ 3.10 and 4.0 close the connection over it, 4.3 returns it.
  to.push_back(routed("''", "'amq.rabbitmq.reply-to.AAAA.key'", "dead", ""));
  to.push_back(routed("''", "'amq.rabbitmq.reply-to.'", "dead", ""));
  to.push_back(routed("''", "''", "dead", "returned"));
  to.push_back(routed("''", "'no such queue'", "dead", "returned"));
  to.push_back(routed("''", "repeat('q', 255)", "dead", "returned"));
  to.push_back(routed("''", "repeat('é', 127)", "dead", "returned"));
  to.push_back(routed("''", "repeat('q', 256)", "dead", "unencodable"));
  to.push_back(routed("''", "repeat('é', 128)", "dead", "unencodable"));
  to.push_back(routed("''", "repeat('q', 100000)", "dead", "unencodable"));
  to.push_back(routed("'no such exchange'", "$key", "dead", "refused"));
  to.push_back(routed("repeat('e', 255)", "$key", "dead", "refused"));
  to.push_back(routed("repeat('e', 256)", "$key", "dead", "unencodable"));
  // The words of the refusal are cut inside a character: RabbitMQ 4 closes the connection instead (541).
  to.push_back(routed("'nn' || repeat('é', 120)", "$key", "dead", ""));
  for (const char* exchange : {"direct", "topic", "fanout", "headers", "match"})
    to.push_back(routed(fmt::format("'amq.{}'", exchange), "'nobody.listens'", "dead", "returned"));
  to.push_back(routed("'amq.rabbitmq.trace'", "$key", "dead", "refused"));
  to.push_back(routed("'amq.unknown'", "$key", "dead", "refused"));
  to.push_back(routed("'outbox'", "'reaches.nobody'", "dead", "returned"));
  to.push_back(routed("'outbox'", "$key", "published", ""));
  for (const char* rest : {"'.*'", "'.#'", "'..'", "'. '", "E'.\\n\\t'", "'.😀'", "'.' || repeat('x', 100)"})
    to.push_back(routed("'outbox'", fmt::format("$key || {}", rest), "published", ""));
}

void add_headers(std::vector<poison>& to) {
  to.push_back(headed("'{\"CC\": \"x\"}'", "dead", "unencodable"));
  to.push_back(headed("'{\"BCC\": \"x\"}'", "dead", "unencodable"));
  to.push_back(headed("'{\"CC\": 5}'", "dead", "unencodable"));
  for (const char* harmless :
       {"{\"x-delay\": 5000}", "{\"x-death\": [1, 2]}", "{\"expiration\": \"1\"}", "{\"priority\": 255}",
        "{\"user_id\": \"someone\"}", "{\"a\": null, \"b\": true, \"c\": [], \"d\": {}}",
        "{\"a\": 9007199254740993}", "{\"a\": 9223372036854775807}", "{\"a\": -9223372036854775808}",
        "{\"a\": 0.1}", "{\"é\": \"😀\"}"})
    to.push_back(headed(fmt::format("'{}'", harmless), "published"));
  to.push_back(headed("'{\"a\": 9223372036854775808}'", "dead", "unencodable"));
  to.push_back(headed("'{\"a\": 1e400}'", "dead", "unencodable"));
  to.push_back(headed("'{\"\": 1}'", "dead", "unencodable"));
  to.push_back(headed("jsonb_build_object(repeat('h', 255), 1)", "published"));
  to.push_back(headed("jsonb_build_object(repeat('h', 256), 1)", "dead", "unencodable"));
  to.push_back(headed("(repeat('{\"a\":', 200) || '1' || repeat('}', 200))::jsonb", "dead", "unencodable"));
  to.push_back(headed("jsonb_build_object('a', repeat('x', 100000))", "published"));
  to.push_back(headed("jsonb_build_object('a', repeat('x', 200000))", "dead", "unencodable"));
}

void add_values(std::vector<poison>& to) {
  to.push_back(with("event_type", "repeat('t', 255)", "published"));
  to.push_back(with("event_type", "repeat('t', 256)", "dead", "unencodable"));
  to.push_back(with("event_type", "E'a\\nb\\x01'", "published"));
  to.push_back(with("aggregate_type", "'😀'", "published"));
  to.push_back(with("aggregate_type", "repeat('a', 100000)", "published"));
  to.push_back(with("aggregate_type", "repeat('a', 1000000)", "dead", "unencodable"));
  for (const char* payload : {"null", "\"\"", "[]", "0", "1e1000", "\"\\u00e9\\ud83d\\ude00\""})
    to.push_back(with("payload", fmt::format("'{}'", payload), "published"));
  to.push_back(with("payload", "(repeat('[', 5000) || repeat(']', 5000))::jsonb", "published"));
  for (const int size : {131'061, 131'062, 131'063, 131'064, 1'000'000})  // about a frame, and more
    to.push_back(with("payload", fmt::format("to_jsonb(repeat('p', {}))", size), "published"));
  for (const char* past : {"-infinity", "4713-01-01 BC", "1677-09-21", "2000-01-01"}) {
    to.push_back(with("available_at", fmt::format("'{}'", past), "published"));
    to.push_back(with("created_at", fmt::format("'{}'", past), "published"));
  }
  for (const char* future : {"2262-04-12", "9999-12-31", "292277-01-11", "294276-12-31", "infinity"}) {
    to.push_back(with("available_at", fmt::format("'{}'", future), "waiting"));
    to.push_back(with("created_at", fmt::format("'{}'", future), "published"));
  }
  to.push_back(with("attempts", "2147483647", "published"));
  to.push_back({"attempts and nobody to route to",
                {{"attempts", "2147483647"}, {"routing_key", "'nobody'"}},
                "dead",
                "returned"});
  to.push_back(with("deferrals", "32767", "published"));
  for (const char* at : {"-infinity", "4713-01-01 BC", "294276-12-31", "infinity"})
    to.push_back(with("first_failed_at", fmt::format("'{}'", at), "published"));
  to.push_back({"nobody to route to since ever",
                {{"first_failed_at", "'-infinity'"}, {"routing_key", "'nobody'"}},
                "dead",
                "returned"});
  to.push_back({"nobody to route to from a time to come on",
                {{"first_failed_at", "'294276-12-31'"}, {"routing_key", "'nobody'"}},
                "dead",
                "returned"});
  to.push_back(with("waits_for", "-9223372036854775808", "published"));
  to.push_back(with("failed_exchange", "repeat('x', 1000)", "published"));
  to.push_back(with("status", "'waiting'", "published"));
  to.push_back(
      {"status dead", {{"routing_key", "$key"}, {"status", "'dead'"}, {"exception", "'dead'"}}, "dead", {}});
  to.push_back(with("id", "'00000000-0000-0000-0000-000000000000'", "published"));
  to.push_back(with("id", "'ffffffff-ffff-ffff-ffff-ffffffffffff'", "published"));
  to.push_back(with("tx", "'3'", "published"));
  to.push_back(with("exception", "'parked'", "published"));
}

}  // namespace

std::vector<poison> poisons() {
  std::vector<poison> out;
  add_routes(out);
  add_headers(out);
  add_values(out);
  return out;
}

std::string insert_statement(const poison& what, const std::string& of, const std::string& key) {
  std::map<std::string, std::string> columns{{"aggregate_type", "'poison'"},
                                             {"aggregate_id", fmt::format("'{}'", of)},
                                             {"event_type", "$key"},
                                             {"payload", "'{}'"}};
  for (const auto& [column, value] : what.columns) columns[column] = value;
  std::string names, values;
  for (const auto& [column, value] : columns) {
    names += (names.empty() ? "" : ", ") + column;
    values += (values.empty() ? "" : ", ") + replaced(value, "$key", fmt::format("'{}'", key));
  }
  return fmt::format("INSERT INTO outbox.event ({}) VALUES ({})", names, values);
}

void insert(database& session, const poison& what, const std::string& of, const std::string& key) {
  session.exec(insert_statement(what, of, key));
}

}  // namespace outboxd::test
