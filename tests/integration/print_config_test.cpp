// `run --print-config`: the settings in force, where each came from, and no password.
#include <doctest/doctest.h>

#include "settings_file.hpp"

namespace outboxd::test::print_config_test {

TEST_CASE("run --print-config shows each setting with its origin, and connects to nothing") {
  const settings_file file{"[relay]\nlanes = 3\n[retry]\nbase = '2s'\n"};
  const auto shown =
      run_outboxd({"run", "--print-config", "--config", file.path(), "--log-level", "debug"},
                  {{"OUTBOXD_DATABASE_URL", "postgresql://relay:hush@127.0.0.1:1/shop"},
                   {"OUTBOXD_AMQP_URL", "amqp://relay:hush@127.0.0.1:1,amqp://second:hush@[::1]/v"},
                   {"OUTBOXD_RELAY_BATCH", "10"}});
  CAPTURE(shown.text());
  CHECK(shown.exited(0));
  CHECK(shown.says("lanes = 3  # " + file.path() + ":2"));
  CHECK(shown.says("base = \"2s\"  # " + file.path() + ":4"));
  CHECK(shown.says("batch = 10  # environment OUTBOXD_RELAY_BATCH"));
  CHECK(shown.says("level = \"debug\"  # flag --log-level"));
  CHECK(shown.says("order = \"strict\"  # default"));
  CHECK_FALSE(shown.says("sweep_interval"));
  CHECK(run_outboxd({"run", "--print-config", "--all"}).says("sweep_interval = \"1s\"  # default"));
  CHECK(shown.says("url = \"postgresql://relay:***@127.0.0.1:1/shop\"  # environment OUTBOXD_DATABASE_URL"));
  CHECK(shown.says("url = \"amqp://relay:***@127.0.0.1:1,amqp://second:***@[::1]/v\"  # "));
  CHECK_FALSE(shown.says("hush"));
}

TEST_CASE("what run --print-config prints is a file for --config") {
  const environment urls{{"OUTBOXD_DATABASE_URL", "postgresql://u@h/d"}, {"OUTBOXD_AMQP_URL", "amqp://h"}};
  const auto first = run_outboxd({"run", "--print-config", "--retry-schedule", "1s,10s"}, urls);
  REQUIRE_MESSAGE(first.exited(0), first.text());
  const settings_file file{first.text()};
  const auto second = run_outboxd({"run", "--print-config", "--config", file.path()}, urls);
  REQUIRE_MESSAGE(second.exited(0), second.text());
  CHECK(second.says("schedule = \"1s,10s\"  # " + file.path()));
  CHECK(second.lines.size() == first.lines.size());
}

TEST_CASE("run --print-config refuses bad settings as run does") {
  const auto refused = run_outboxd({"run", "--print-config", "--relay-lanes", "0"});
  CHECK(refused.exited(2));
  CHECK(refused.lines.size() == 1);
  CHECK(refused.says("relay.lanes = '0' (flag --relay-lanes)"));
}

}  // namespace outboxd::test::print_config_test
