// app_reload_test: which changed settings a running relay takes up, and that bad ones change nothing.
#include <doctest/doctest.h>

#include <algorithm>

#include "app/config/reload.hpp"
#include "app/config/setting_keys.hpp"

namespace app_reload_test {

using namespace outboxd;
using namespace outboxd::app;
using namespace std::chrono_literals;

namespace {

raw_settings with(std::initializer_list<std::pair<const char*, std::string>> values) {
  raw_settings raw;
  for (const auto& [key, text] : values) raw[key] = {text, "a file"};
  return raw;
}

settings in_force(const raw_settings& raw) {
  auto read = read_settings(raw);
  REQUIRE(read.has_value());
  return std::move(*read);
}

using keys = std::vector<std::string>;

}  // namespace

TEST_CASE("live settings are taken up, and others wait for the restart") {
  const auto before = in_force(with({{"relay.lanes", "2"}, {"retry.base", "1s"}}));
  const auto done = reload(before, with({{"relay.lanes", "4"},
                                         {"relay.sweep_interval", "2s"},
                                         {"relay.standby_interval", "2s"},
                                         {"relay.shutdown_grace", "3s"},
                                         {"amqp.confirm_timeout", "4s"},
                                         {"retry.max_attempts", "5"},
                                         {"retry.give_up_after", "never"},
                                         {"retention.published", "never"},
                                         {"retention.processed", "30d"},
                                         {"log.level", "debug"},
                                         {"log.format", "json"},
                                         {"amqp.url", "amqp://u:secret@h"}}));
  REQUIRE(done.has_value());
  CHECK(done->taken_up == keys{"amqp.confirm_timeout", "relay.sweep_interval", "relay.standby_interval",
                               "relay.shutdown_grace", "retention.published", "retention.processed",
                               "retry.max_attempts", "retry.give_up_after", "log.level", "log.format"});
  CHECK(done->at_restart == keys{"amqp.url", "relay.lanes"});
  const auto& now = done->in_force;
  CHECK(now.relay.lanes == 2);
  CHECK(now.relay.leader.sweep_interval == 2s);
  CHECK(now.relay.leader.standby_interval == 2s);
  CHECK(now.relay.leader.doorbell.longest_poll == 2s);
  CHECK(now.relay.shutdown_grace == 3s);
  CHECK(now.relay.lane.confirm_timeout == 4s);
  CHECK(now.relay.leader.stream.retry.max_attempts() == 5);
  CHECK_FALSE(now.relay.leader.stream.give_up_after);
  CHECK_FALSE(now.relay.keep.published);
  CHECK(now.relay.keep.processed == std::chrono::days(30));
  CHECK(now.log.level == "debug");
  CHECK(now.log.format == log_format::json);
  CHECK(now.relay.broker.urls.at(0).address() == "amqp://localhost");
}

TEST_CASE("to and from retention.published = 0s a relay changes when it is restarted") {
  const auto keeps = in_force(with({{"retention.published", "7d"}}));
  const auto deletes = in_force(with({{"retention.published", "0s"}}));
  for (const auto* before : {&keeps, &deletes}) {
    const auto done = reload(*before, before == &keeps ? deletes.raw : keeps.raw);
    REQUIRE(done.has_value());
    CHECK(done->taken_up.empty());
    CHECK(done->at_restart == keys{"retention.published"});
    CHECK(done->in_force.relay.keep.published == before->relay.keep.published);
  }
}

TEST_CASE("a key that has gone from the file has its default again") {
  const auto before = in_force(with({{"retry.schedule", "1s"}, {"relay.lanes", "4"}}));
  const auto done = reload(before, {});
  REQUIRE(done.has_value());
  CHECK(done->taken_up == keys{"retry.schedule"});
  CHECK(done->at_restart == keys{"relay.lanes"});
  CHECK(done->in_force.relay.leader.stream.retry.max_attempts() == 20);
}

TEST_CASE("what waits for the restart is said again each time, and what was taken up only once") {
  const auto before = in_force({});
  const auto found = with({{"relay.batch", "10"}, {"retry.base", "2s"}});
  const auto first = reload(before, found);
  REQUIRE(first.has_value());
  const auto second = reload(first->in_force, found);
  REQUIRE(second.has_value());
  CHECK(second->taken_up.empty());
  CHECK(second->at_restart == keys{"relay.batch"});
}

TEST_CASE("another place of the same value is no change") {
  const auto before = in_force(with({{"relay.lanes", "2"}}));
  auto found = with({{"relay.lanes", "2"}, {"log.level", "info"}});
  found["relay.lanes"].origin = "another file";
  const auto done = reload(before, found);
  REQUIRE(done.has_value());
  CHECK(done->taken_up.empty());
  CHECK(done->at_restart.empty());
}

TEST_CASE("bad settings are refused in the words of the start") {
  const auto found = with({{"retry.base", "soon"}, {"log.level", "debug"}});
  const auto refused = reload(in_force({}), found);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().message == read_settings(found).error().message);
}

TEST_CASE("live settings that do not fit those that stay are refused") {
  const auto refused =
      reload(in_force({}), with({{"relay.claim_timeout", "1m"}, {"relay.sweep_interval", "30s"}}));
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().message.find("relay.claim_timeout = '10s'") != std::string::npos);
  CHECK(refused.error().message.find("restart") != std::string::npos);
}

TEST_CASE("each live key is one that there is, and none is a secret") {
  for (const auto key : live_keys) {
    CAPTURE(key);
    const auto found = std::find_if(setting_keys.begin(), setting_keys.end(),
                                    [&](const setting_key& one) { return one.key() == key; });
    REQUIRE(found != setting_keys.end());
    CHECK_FALSE(found->secret);
  }
}

}  // namespace app_reload_test
