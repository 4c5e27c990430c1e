// app_settings_test: what the settings mean, and what is said of a bad one.
#include <doctest/doctest.h>

#include "app/config/setting_keys.hpp"
#include "app/config/settings.hpp"
#include "given_settings.hpp"

namespace app_settings_test {

using namespace outboxd;
using namespace outboxd::app;
using test::has;
using test::refusal;
using test::with;
using namespace std::chrono_literals;

TEST_CASE("without any setting the defaults of the contract hold") {
  const auto read = read_settings({});
  REQUIRE(read.has_value());
  const auto& relay = read->relay;
  const auto& leader = relay.leader;
  CHECK(leader.database.url.address() == "");
  CHECK(leader.database.schema.name() == "outbox");
  CHECK(leader.stream.read.batch == 1500);
  CHECK(leader.stream.batch_bytes == 8'000'000);
  CHECK(relay.lanes == 2);
  CHECK(relay.max_rate == 0);
  CHECK(leader.sweep_interval == 1s);
  CHECK(leader.database.claim_timeout == 10s);
  CHECK(leader.standby_interval == 100ms);
  CHECK(leader.database.after_publish == store::after_publish::keep);
  CHECK(relay.keep.published == std::chrono::days(7));
  CHECK_FALSE(relay.keep.processed);
  CHECK(leader.stream.give_up_after == 24h);
  CHECK(relay.lane.confirm_timeout == 10s);
  CHECK(relay.shutdown_grace == 10s);
  CHECK(leader.stream.order == order_mode::strict);
  CHECK(leader.stream.route.exchange == "outbox");
  CHECK(relay.broker.declare_exchanges == std::vector<std::string>{"outbox"});
  CHECK(relay.broker.heartbeat == 10s);
  REQUIRE(relay.broker.urls.size() == 1);
  CHECK(relay.broker.urls[0].address() == "amqp://localhost");
  CHECK(read->http.listen == std::vector<http::address>{http::tcp_address{"127.0.0.1", 9464}});
  CHECK_FALSE(read->http.hosts.allow("relay.internal"));
  CHECK(read->log.level == "info");
  CHECK(read->log.format == log_format::text);
  CHECK(read->warnings.empty());
}

TEST_CASE("the parts by themselves have the defaults of the settings") {
  const auto read = read_settings({});
  REQUIRE(read.has_value());
  const auto& set = read->relay;
  const relay::relay_settings own{
      .leader = {.database = {.url = {}, .schema = set.leader.database.schema}, .stream = {}, .doorbell = {}},
      .broker = {},
      .lane = {}};
  CHECK(own.leader.stream.read.batch == set.leader.stream.read.batch);
  CHECK(own.leader.stream.batch_bytes == set.leader.stream.batch_bytes);
  CHECK(own.leader.stream.order == set.leader.stream.order);
  CHECK(own.leader.stream.after_dead == set.leader.stream.after_dead);
  CHECK(own.leader.stream.retry.max_attempts() == set.leader.stream.retry.max_attempts());
  CHECK(own.leader.stream.give_up_after == set.leader.stream.give_up_after);
  CHECK(own.leader.stream.dead_letter_exchange == set.leader.stream.dead_letter_exchange);
  CHECK(own.leader.sweep_interval == set.leader.sweep_interval);
  CHECK(own.leader.standby_interval == set.leader.standby_interval);
  CHECK(own.leader.database.claim_timeout == set.leader.database.claim_timeout);
  CHECK(own.leader.database.after_publish == set.leader.database.after_publish);
  CHECK(own.lanes == set.lanes);
  CHECK(own.max_rate == set.max_rate);
  CHECK(own.shutdown_grace == set.shutdown_grace);
  CHECK(own.lane.confirm_timeout == set.lane.confirm_timeout);
  CHECK(own.broker.heartbeat == set.broker.heartbeat);
  CHECK(own.broker.max_message_size == set.broker.max_message_size);
  CHECK(own.broker.login == set.broker.login);
}

TEST_CASE("every setting arrives where it is used") {
  const auto read = read_settings(with({{"database.url", "host=h"},
                                        {"amqp.url", "amqp://a,amqp://b"},
                                        {"amqp.declare", "false"},
                                        {"amqp.heartbeat", "5s"},
                                        {"amqp.confirm_timeout", "3s"},
                                        {"outbox.schema", "Odd"},
                                        {"relay.lanes", "64"},
                                        {"relay.max_rate", "250"},
                                        {"relay.batch", "10"},
                                        {"relay.batch_bytes", "1KiB"},
                                        {"relay.sweep_interval", "10ms"},
                                        {"relay.claim_timeout", "6s"},
                                        {"relay.standby_interval", "1500ms"},
                                        {"relay.shutdown_grace", "0s"},
                                        {"relay.order", "pipelined"},
                                        {"retry.give_up_after", "365d"},
                                        {"retention.published", "never"},
                                        {"retention.processed", "3650d"},
                                        {"http.listen", "unix:/a,:1"},
                                        {"http.allowed_hosts", "relay.internal"},
                                        {"log.level", "debug"},
                                        {"log.format", "json"}}));
  REQUIRE(read.has_value());
  const auto& relay = read->relay;
  const auto& leader = relay.leader;
  CHECK(leader.database.url.address() == "host=h");
  CHECK(relay.broker.urls.size() == 2);
  CHECK(relay.broker.urls[1].address() == "amqp://b");
  CHECK(relay.broker.declare_exchanges.empty());
  CHECK(relay.broker.heartbeat == 5s);
  CHECK(relay.lane.confirm_timeout == 3s);
  CHECK(leader.database.schema.name() == "Odd");
  CHECK(relay.lanes == 64);
  CHECK(relay.max_rate == 250);
  CHECK(leader.stream.read.batch == 10);
  CHECK(leader.stream.batch_bytes == 1024);
  CHECK(leader.sweep_interval == 10ms);
  CHECK(leader.doorbell.longest_poll == 10ms);
  CHECK(leader.database.claim_timeout == 6s);
  CHECK(leader.standby_interval == 1500ms);
  CHECK(relay.shutdown_grace == 0s);
  CHECK(leader.stream.give_up_after == std::chrono::days(365));
  CHECK_FALSE(relay.keep.published);
  CHECK(relay.keep.processed == std::chrono::days(3650));
  CHECK(leader.stream.order == order_mode::pipelined);
  CHECK(read->http.listen == std::vector<http::address>{http::unix_address{"/a"}, http::tcp_address{"", 1}});
  CHECK(read->http.hosts.allow("relay.internal"));
  CHECK(read->log.level == "debug");
  CHECK(read->log.format == log_format::json);
}

TEST_CASE("a read has an event for each 5.3 kB of relay.batch_bytes") {
  for (const auto& [bytes, events] : {std::pair{"8MB", 1500}, {"1MB", 187}, {"1", 1}, {"1GiB", 10'000}}) {
    const auto read = read_settings(with({{"relay.batch_bytes", bytes}}));
    REQUIRE(read.has_value());
    CHECK(read->relay.leader.stream.read.batch == events);
  }
}

TEST_CASE("published events that are kept for 0s are deleted at once") {
  const auto read = read_settings(with({{"retention.published", "0s"}}));
  REQUIRE(read.has_value());
  CHECK(read->relay.leader.database.after_publish == store::after_publish::remove);
  CHECK_FALSE(read->relay.keep.published);
}

TEST_CASE("a deprecated setting works, with a warning that says what to set instead") {
  for (const auto& [key, value] : {std::pair{"relay.batch", "10"},
                                   {"amqp.heartbeat", "5s"},
                                   {"relay.after_publish", "delete"},
                                   {"retry.schedule", "1s,10s"}}) {
    CAPTURE(key);
    const auto read = read_settings(with({{key, value}}));
    REQUIRE(read.has_value());
    REQUIRE(read->warnings.size() == 1);
    const auto& words = read->warnings.front();
    CHECK_MESSAGE(words.starts_with(std::string(key) + " (origin of " + key + ") is deprecated: "), words);
  }
  const auto read = read_settings(with({{"relay.after_publish", "delete"}}));
  CHECK(read->relay.leader.database.after_publish == store::after_publish::remove);
}

TEST_CASE("a bad value is refused with its key, itself, where it came from and what is allowed") {
  struct {
    const char *key, *value, *allowed;
  } const all[] = {
      {"amqp.declare", "yes", "one of true, false"},
      {"amqp.declare", "", "one of true, false"},
      {"amqp.heartbeat", "10", "1s to 1h"},
      {"amqp.heartbeat", "0s", "1s to 1h"},
      {"amqp.heartbeat", "61m", "1s to 1h"},
      {"amqp.confirm_timeout", "99ms", "100ms to 1h"},
      {"amqp.confirm_timeout", "9223372036854775808ms", "100ms to 1h"},
      {"outbox.schema", "", "name of a schema"},
      {"outbox.schema", "pg_x", "PostgreSQL keeps"},
      {"relay.lanes", "0", "1 to 64"},
      {"relay.lanes", "65", "1 to 64"},
      {"relay.lanes", "-1", "1 to 64"},
      {"relay.lanes", "four", "1 to 64"},
      {"relay.lanes", "99999999999999999999", "1 to 64"},
      {"relay.max_rate", "-1", "0 to 1000000"},
      {"relay.max_rate", "0.5", "0 to 1000000"},
      {"relay.max_rate", "fast", "0 to 1000000"},
      {"relay.max_rate", "1000001", "0 to 1000000"},
      {"relay.batch", "0", "1 to 10000"},
      {"relay.batch", "10001", "1 to 10000"},
      {"relay.batch_bytes", "0", "up to 1GiB"},
      {"relay.batch_bytes", "2GiB", "up to 1GiB"},
      {"relay.batch_bytes", "8 MB", "up to 1GiB"},
      {"relay.sweep_interval", "9ms", "10ms to 1h"},
      {"relay.sweep_interval", "-1s", "10ms to 1h"},
      {"relay.clock_tolerance", "2m", "0s to 1m"},
      {"relay.claim_timeout", "999ms", "1s to 1h"},
      {"relay.claim_timeout", "2d", "1s to 1h"},
      {"relay.standby_interval", "9ms", "10ms to 15m"},
      {"relay.standby_interval", "16m", "10ms to 15m"},
      {"relay.shutdown_grace", "forever", "0s to 1h"},
      {"relay.order", "Strict", "one of strict, pipelined"},
      {"http.listen", "", "or off"},
      {"http.listen", "9464", "127.0.0.1:9464"},
      {"http.listen", "relay:9464", "an IP address and a port"},
      {"http.listen", "off,127.0.0.1:9464", "or off"},
      {"http.allowed_hosts", "relay:9464", "host names without a port"},
      {"retry.base", "0s", "1ms to 30d"},
      {"retry.base", "-1s", "1ms to 30d"},
      {"retry.cap", "0ms", "1ms to 30d"},
      {"retry.cap", "31d", "1ms to 30d"},
      {"retry.max_attempts", "0", "1 to 10000"},
      {"retry.max_attempts", "-1", "1 to 10000"},
      {"retry.max_attempts", "10001", "1 to 10000"},
      {"retry.schedule", "", "a list of 1 to 10000 delays"},
      {"retry.schedule", ",", "a list of 1 to 10000 delays"},
      {"retry.schedule", "1s,,2s", "a list of 1 to 10000 delays"},
      {"retry.schedule", "1s,", "a list of 1 to 10000 delays"},
      {"retry.schedule", ",1s", "a list of 1 to 10000 delays"},
      {"retry.schedule", "1s,0s", "from 1ms to 30d"},
      {"retry.schedule", "1s,-5s", "from 1ms to 30d"},
      {"retry.schedule", "1s 5s", "from 1ms to 30d"},
      {"retry.schedule", "1s,soon", "from 1ms to 30d"},
      {"retry.give_up_after", "999ms", "1s to 365d"},
      {"retry.give_up_after", "366d", "1s to 365d"},
      {"retry.give_up_after", "", "never, or a duration"},
      {"retry.give_up_after", "Never", "never, or a duration"},
      {"retry.give_up_after", "24", "never, or a duration"},
      {"retention.published", "1s", "1m to 3650d, or 0s to delete at once"},
      {"retention.published", "36500d", "1m to 3650d"},
      {"retention.published", "Never", "never, or a duration"},
      {"retention.processed", "59999ms", "1m to 3650d"},
      {"retention.processed", "3651d", "1m to 3650d"},
      {"dead_letter.exchange", "amq.topic", "does not begin with amq."},
      {"amqp.max_message_size", "0", "1 to 512MiB"},
      {"amqp.max_message_size", "513MiB", "1 to 512MiB"},
      {"console.listen", "9465", "127.0.0.1:9464"},
      {"console.access", "all", "one of off, read, act"},
      {"console.public_url", "ops.example", "http:// or https://"},
      {"console.public_url", "https://u:p@ops.example", "without a user and password"},
      {"console.proxy_header", "X User", "the name of a header"},
      {"console.proxy_addresses", "10.0.0.0/8", "IP addresses"},
      {"console.relay_urls", "https://a", "relays speak no TLS"},
      {"log.level", "verbose", "one of trace, debug, info, warn, error, off"},
      {"log.format", "xml", "one of text, json"},
  };
  for (const auto& one : all) {
    const std::string words = refusal(with({{one.key, one.value}}));
    CAPTURE(words);
    CHECK(has(words, one.key));
    CHECK(has(words, one.value));
    CHECK(has(words, std::string("origin of ") + one.key));
    CHECK(has(words, one.allowed));
  }
}

TEST_CASE("every setting but the open ones refuses nonsense, under its own name") {
  for (const setting_key& one : setting_keys) {
    if (one.section == "outbox") continue;
    const std::string words = refusal({{one.key(), {"\x01nonsense", "somewhere"}}});
    CAPTURE(words);
    CHECK(has(words, one.key()));
    CHECK(has(words, "somewhere"));
  }
}

TEST_CASE("claim_timeout is above sweep_interval, and both are named when it is not") {
  const auto words = refusal(with({{"relay.sweep_interval", "10s"}, {"relay.claim_timeout", "10s"}}));
  for (const char* part : {"relay.claim_timeout = '10s'", "origin of relay.claim_timeout", "is not above",
                           "relay.sweep_interval = '10s'", "origin of relay.sweep_interval"})
    CHECK_MESSAGE(has(words, part), words);
  CHECK(refusal(with({{"relay.sweep_interval", "9999ms"}, {"relay.claim_timeout", "10s"}})) == "");
  CHECK(has(refusal(with({{"relay.sweep_interval", "11s"}})), "the default"));
  CHECK(refusal(with({{"amqp.confirm_timeout", "1h"}})) == "");  // no concern of the lead's
}

TEST_CASE("standby_interval is at most a quarter of claim_timeout, and both are named when it is not") {
  const auto words = refusal(with({{"relay.standby_interval", "2501ms"}, {"relay.claim_timeout", "10s"}}));
  for (const char* part : {"relay.standby_interval = '2501ms'", "origin of relay.standby_interval", "quarter",
                           "relay.claim_timeout = '10s'", "origin of relay.claim_timeout"})
    CHECK_MESSAGE(has(words, part), words);
  CHECK(refusal(with({{"relay.standby_interval", "2500ms"}, {"relay.claim_timeout", "10s"}})) == "");
  CHECK(has(refusal(with({{"relay.standby_interval", "1m"}})), "the default"));
}

TEST_CASE("retry settings that do not fit together are refused, and both are named") {
  const std::string cap = refusal(with({{"retry.base", "10s"}, {"retry.cap", "9s"}}));
  for (const char* part :
       {"retry.cap = '9s'", "origin of retry.cap", "below retry.base = '10s'", "origin of retry.base"})
    CHECK(has(cap, part));
  CHECK(refusal(with({{"retry.base", "10s"}, {"retry.cap", "10s"}})) == "");
  CHECK(has(refusal(with({{"retry.base", "10m"}})), "retry.cap = '5m' (the default)"));
  for (const char* other : {"retry.base", "retry.cap", "retry.max_attempts"}) {
    const std::string words = refusal(with({{"retry.schedule", "1s"}, {other, "3"}}));
    CHECK(has(words, "retry.schedule (origin of retry.schedule)"));
    CHECK(has(words, std::string(other) + " (origin of " + other + ")"));
  }
}

TEST_CASE("a schedule of retries is a list of delays with or without blanks") {
  const auto read = read_settings(with({{"retry.schedule", "1s, 10s,1m"}}));
  REQUIRE(read.has_value());
  CHECK(read->relay.leader.stream.retry.max_attempts() == 4);
}

TEST_CASE("retry.give_up_after may be never, and goes with a schedule of retries") {
  const auto read = read_settings(with({{"retry.give_up_after", "never"}, {"retry.schedule", "1s"}}));
  REQUIRE(read.has_value());
  CHECK_FALSE(read->relay.leader.stream.give_up_after);
  CHECK(read->relay.leader.stream.retry.max_attempts() == 2);
}

TEST_CASE("a dead letter exchange is its owner's to declare") {
  const auto read = read_settings(with({{"dead_letter.exchange", "graveyard"}}));
  REQUIRE(read.has_value());
  CHECK(read->relay.leader.stream.dead_letter_exchange == "graveyard");
  CHECK(read->relay.broker.declare_exchanges == std::vector<std::string>{"outbox"});
  CHECK(has(refusal(with({{"dead_letter.exchange", std::string(256, 'x')}})), "at most 255 bytes"));
}

}  // namespace app_settings_test
