// SIGHUP: a running relay takes up what can change at run time, and bad settings leave it as it is.
#include <doctest/doctest.h>

#include "asked_relay.hpp"
#include "closing_event.hpp"
#include "load.hpp"
#include "settings_file.hpp"
#include "support/servers.hpp"

namespace outboxd::test::reload_test {
namespace {

constexpr auto kept = "configuration not reloaded: ";

// Returns what it says of that.
std::string reload(process& running, const settings_file& file, const std::string& text,
                   const std::string& says) {
  const auto from = running.lines().size();
  file.write(text);
  running.send(SIGHUP);
  return running.wait_line(says, time_limit, from);
}

// The sample of a metric that has no labels.
double sample(const asked_relay& of, const std::string& name) {
  const auto body = of.get("/metrics").body;
  const auto at = body.find("\n" + name + " ");
  REQUIRE(at != std::string::npos);
  return std::stod(body.substr(at + name.size() + 2));
}

void insert_lost(const stage& on) {
  on.connect().exec(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload)"
      " VALUES ('order', gen_random_uuid()::text, 'unbound-' || $1, '{}')",
      {on.queue()});
}

}  // namespace

TEST_CASE("SIGHUP takes up retry.give_up_after: what waits is dead when that has passed") {
  const stage on;
  const settings_file file{"[retry]\ngive_up_after = 'never'\n"};
  relay running{on, file.flags()};
  insert_lost(on);
  eventually("it waits without an end", [&] {
    return on.ask("SELECT count(*) FROM outbox.event WHERE available_at = 'infinity'") == 1;
  });
  // A failing probe writes no row, so it is not what changes the time.
  reload(running, file, "[retry]\ngive_up_after = '1h'\n", "retry.give_up_after = '1h'");
  eventually(
      "it waits for an hour from its first failure",
      [&] {
        return on.ask(
                   "SELECT count(*) FROM outbox.event"
                   " WHERE available_at = first_failed_at + interval '1 hour'") == 1;
      },
      time_limit);
  reload(running, file, "[retry]\ngive_up_after = '1s'\n", "retry.give_up_after = '1s'");
  eventually(
      "it is dead", [&] { return on.count("dead") == 1; }, time_limit);
  running.stop();
}

TEST_CASE("SIGHUP takes up changed retries: later failures go by them") {
  const stage on;
  const settings_file file{"[retry]\nschedule = ['1h']\n"};
  relay running{on, file.flags()};
  running.await_connected();
  auto session = on.connect();
  insert_closing(session, "a");
  eventually(
      "it backs off", [&] { return on.count("waiting") == 1; }, time_limit);
  const auto said = reload(running, file, "[retry]\nschedule = ['1ms']\n", "retry.schedule = '1ms'");
  CHECK(said.find(file.path() + ":2") != std::string::npos);
  CHECK(said.find("it was '1h'") != std::string::npos);
  insert_closing(session, "b");
  eventually(
      "the second one is dead", [&] { return on.count("dead") == 1; }, time_limit);
  CHECK(on.count("waiting") == 1);
  running.stop();
}

TEST_CASE("SIGHUP takes up the sweep interval and the log's level and format") {
  const stage on;
  const settings_file file{"[relay]\nsweep_interval = '30m'\nclaim_timeout = '1h'\n"};
  asked_relay running{on, file.flags()};
  running.await_connected();
  running.wait_line("leads shard", time_limit);
  reload(running, file, "[relay]\nsweep_interval = '10ms'\nclaim_timeout = '1h'\n[log]\nformat = 'json'\n",
         "\"message\":\"relay.sweep_interval = '10ms'");
  const auto before = sample(running, "outboxd_sweeps_total");
  eventually(
      "it sweeps", [&] { return sample(running, "outboxd_sweeps_total") > before + 10; }, time_limit);
  reload(running, file, "[relay]\nclaim_timeout = '1h'\n[log]\nlevel = 'debug'\n", "log.level = 'debug'");
  insert_lost(on);
  insert_lost(on);
  running.wait_line(" debug ", time_limit);
  running.stop();
}

TEST_CASE("SIGHUP takes up relay.standby_interval: a standby asks for the lead at once") {
  const stage on;
  relay first{on};
  first.wait_line("leads shard 0 of 1", time_limit);
  const settings_file file{"[relay]\nstandby_interval = '15m'\nclaim_timeout = '1h'\n"};
  relay second{on, file.flags()};
  second.wait_line("standby: another", time_limit);
  first.stop();
  reload(second, file, "[relay]\nstandby_interval = '50ms'\nclaim_timeout = '1h'\n",
         "relay.standby_interval = '50ms'");
  second.wait_line("leads shard 0 of 1", time_limit);
  second.stop();
}

TEST_CASE("SIGHUP takes up relay.max_rate: what was held back goes out") {
  const stage on;
  const settings_file file{"[relay]\nmax_rate = 1\n"};
  relay running{on, file.flags()};
  running.await_connected();
  on.add_events(50, 40);
  on.await_published(1);
  reload(running, file, "[relay]\nmax_rate = 0\n", "relay.max_rate = '0'");
  on.await_drained();  // at one a second it would take half an hour
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  running.stop();
}

TEST_CASE("SIGHUP names what needs a restart, and says when nothing has changed") {
  const stage on;
  const settings_file file{"[relay]\nlanes = 2\n"};
  relay running{on, file.flags()};
  running.await_connected();
  reload(running, file, "[relay]\nlanes = 2\n", "configuration reloaded; no changes");
  for (int i = 0; i < 2; ++i)  // again as long as it waits for that
    reload(running, file, "[relay]\nlanes = 1\n", "relay.lanes has changed, but takes effect only when");
  reload(running, file, "[relay]\nlanes = 2\n", "configuration reloaded; no changes");
  running.stop();
}

TEST_CASE("SIGHUP with a broken file under load changes nothing, loses nothing and sends nothing twice") {
  const stage on;
  const settings_file file{"[retry]\nbase = '2s'\n"};
  load writers{on};
  relay running{on, file.flags()};
  on.await_published(200);
  const auto refused = [&](const std::string& text, const std::string& says) {
    reload(running, file, text, kept + says);
  };
  refused("[retry]\nbase = 'soon'\n", "retry.base = 'soon' (" + file.path() + ":2) is not allowed");
  refused("[retry\n", file.path() + ":1");
  refused("[relay]\nlanez = 2\n", "unknown key 'relay.lanez'");
  refused("[relay]\nclaim_timeout = '1m'\nsweep_interval = '30s'\n",
          "it does not fit the settings that only a restart");
  std::filesystem::remove(file.path());
  running.send(SIGHUP);
  running.wait_line("cannot read the configuration file", time_limit);
  reload(running, file, "[retry]\nbase = '2s'\n", "configuration reloaded; no changes");
  for (int i = 0; i < 20; ++i) running.send(SIGHUP);
  const auto published = on.count("published");
  on.await_published(published + 200);
  writers.stop();
  const auto report = on.check_all();
  CHECK_MESSAGE(report.exact(), report.words());
  running.stop();
}

TEST_SUITE_BEGIN("alone");

TEST_CASE("SIGHUP takes up the confirm timeout for what is in flight, and the grace of a stop") {
  const stage on;
  const settings_file file{
      "[amqp]\nconfirm_timeout = '1h'\nheartbeat = '1h'\n[relay]\nshutdown_grace = '1h'\n"};
  relay running{on, file.flags()};
  running.await_connected();
  const frozen_broker frozen;
  on.add_events(10, 100);
  eventually(
      "events are on their way", [&] { return on.rows_read() >= 1000; }, time_limit);
  reload(running, file,
         "[amqp]\nconfirm_timeout = '100ms'\nheartbeat = '1h'\n[relay]\nshutdown_grace = '1h'\n",
         "no confirm for 100 ms");
  reload(running, file, "[relay]\nshutdown_grace = '100ms'\n", "relay.shutdown_grace = '100ms'");
  running.stop();
}

TEST_SUITE_END();

}  // namespace outboxd::test::reload_test
