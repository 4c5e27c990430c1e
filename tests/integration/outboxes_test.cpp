// Several outboxes in one process: each is relayed, whatever goes wrong with the others.
#include <doctest/doctest.h>

#include "closing_event.hpp"
#include "outbox_folder.hpp"

namespace outboxd::test::outboxes_test {
namespace {

std::string labelled(const std::string& metric, const std::string& outbox) {
  return fmt::format("{}{{outbox=\"{}\"}}", metric, outbox);
}

program_result run_with(const outbox_folder& outboxes, arguments words) {
  return run_outboxd(outboxes.flags(std::move(words)));
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("one process relays three outboxes, and metrics, readiness, status and log name each") {
  const stage a;
  const stage b{{.schema = "events"}};
  const stage c;
  const outbox_folder outboxes;
  outboxes.add("alpha", a);
  outboxes.add("beta-2", b);
  outboxes.add("gamma", c, "[log]\n");  // an empty section gives no setting
  // The stage's variables are defaults that each file overrides.
  asked_relay running{a, outboxes.flags()};
  for (const stage* one : {&a, &b, &c})
    one->connect().exec(fmt::format("INSERT INTO {}.event (aggregate_type, aggregate_id, event_type, payload)"
                                    " SELECT 'order', n % 7, $1, '{{}}' FROM generate_series(1, 300) AS n",
                                    one->schema()),
                        {one->key()});
  for (const stage* one : {&a, &b, &c}) CHECK_MESSAGE(one->check_all().exact(), one->queue());
  for (const auto* name : {"alpha", "beta-2", "gamma"}) {
    CAPTURE(name);
    await_ready(running, name);
    CHECK(metric(running, labelled("outboxd_events_published_total", name)) == 300);
    CHECK(metric(running, labelled("outboxd_ready", name)) == 1);
    CHECK(metric(running, fmt::format("outboxd_lanes{{outbox=\"{}\",state=\"open\"}}", name)) == 2);
    const auto status = nlohmann::json::parse(running.get("/status").body);
    CHECK(status.at("outboxes").at(name).at("events_published_total") == 300);
    CHECK(has(running.wait_line(fmt::format(" {}: leads", name), time_limit), "info"));
  }
  CHECK(running.get("/readyz").status == 200);
  running.stop();
}

TEST_CASE("without a second outbox nothing names the first, and its file may give settings of the process") {
  const stage on;
  const outbox_folder outboxes;
  outboxes.add("alone", on, "[log]\nformat = \"text\"\n");
  asked_relay running{on, outboxes.flags()};
  on.add_events(10);
  on.await_published(10);
  await_ready(running);
  CHECK(metric(running, "outboxd_events_published_total") == 10);
  CHECK_FALSE(readiness(running).contains("outboxes"));
  for (const auto& line : running.lines()) CHECK_FALSE(has(line, "alone"));
  running.stop();
}

TEST_CASE("what is wrong with one outbox is named, takes nothing from the others, and can be mended") {
  const stage good;
  const stage unmigrated{{.migrated = false}};
  const stage mistyped;
  const outbox_folder outboxes;
  outboxes.add("good", good);
  outboxes.add("unmigrated", unmigrated);
  outboxes.add("mistyped", mistyped, "[relay]\nlaness = 3\n");
  outboxes.write("away", "[database]\nurl = \"postgresql://nobody@127.0.0.1:1/none\"\n");
  outboxes.add("refused", mistyped, "[amqp]\nurl = \"amqp://nobody:wrong@127.0.0.1:1/\"\n");
  asked_relay running{good, outboxes.flags()};
  good.add_events(200, 5);
  CHECK(good.check_all().exact());
  await_reason(running, "unmigrated", "schema_missing");
  await_reason(running, "mistyped", "configuration");
  await_reason(running, "away", "database_down");
  await_reason(running, "refused", "broker_down");
  CHECK(running.get("/readyz").status == 200);
  CHECK(running.get("/healthz").status == 200);
  CHECK(metric(running, labelled("outboxd_ready", "unmigrated")) == 0);
  const auto said = running.wait_line("outbox mistyped is not relayed", time_limit);
  CHECK(has(said, outboxes.file("mistyped") + ":6"));
  CHECK(has(said, "did you mean 'relay.lanes'?"));

  // A migration is found by the next try, a mended file by SIGHUP.
  const auto migrated = run_with(outboxes, {"migrate", "--outbox", "unmigrated"});
  CHECK_MESSAGE(migrated.exited(0), migrated.text());
  await_ready(running, "unmigrated");
  outboxes.add("mistyped", mistyped, "[relay]\nlanes = 3\n");
  running.send(SIGHUP);
  await_ready(running, "mistyped");
  CHECK(metric(running, "outboxd_lanes{outbox=\"mistyped\",state=\"open\"}") == 3);
  mistyped.add_events(50);
  CHECK(mistyped.check_all().exact());
  CHECK(metric(running, labelled("outboxd_takeovers_total", "good")) == 1);
  running.stop();
}

TEST_CASE("SIGHUP begins new outboxes, ends removed ones, and restarts alone what has to restart") {
  const stage kept;
  const stage changed;
  const stage removed;
  const stage added;
  const outbox_folder outboxes;
  outboxes.add("kept", kept);
  outboxes.add("changed", changed);
  outboxes.add("removed", removed);
  asked_relay running{kept, outboxes.flags()};
  for (const auto* name : {"kept", "changed", "removed"}) await_ready(running, name);
  const auto kept_leader = kept.await_leader();
  removed.add_events(500, 5);
  outboxes.remove("removed");
  outboxes.add("added", added);
  outboxes.add("changed", changed, "[relay]\nlanes = 1\nsweep_interval = \"2s\"\n");
  running.send(SIGHUP);
  running.wait_line("removed: stopped; ", time_limit);
  await_ready(running, "added");
  eventually(
      "the changed one has one connection",
      [&] {
        const auto text = running.get("/metrics").body;
        return has(text, "outboxd_lanes{outbox=\"changed\",state=\"open\"} 1\n");
      },
      time_limit);
  CHECK(removed.relay_sessions() == 0);
  CHECK_FALSE(readiness(running).at("outboxes").contains("removed"));
  CHECK(kept.leader() == kept_leader);
  for (const stage* one : {&kept, &changed, &added}) one->add_events(100, 3);
  for (const stage* one : {&kept, &changed, &added}) CHECK(one->check_all().exact());

  // A live setting of the main file's defaults restarts nothing; a wrong file keeps what is in force.
  outboxes.add("changed", changed, "[relay]\nlanes = 0\n");
  outboxes.add("kept", kept, "[relay]\nsweep_interval = \"3s\"\n");
  running.send(SIGHUP);
  running.wait_line("outbox changed keeps its former settings", time_limit);
  running.wait_line("kept: relay.sweep_interval = '3s'", time_limit);
  CHECK(kept.leader() == kept_leader);
  await_ready(running, "changed");
  const auto warnings = readiness(running).at("warnings");
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].at("code") == "configuration");
  CHECK(warnings[0].at("outbox") == "changed");

  // The removed outbox comes back, with what it left.
  outboxes.add("changed", changed);
  outboxes.add("removed", removed);
  running.send(SIGHUP);
  CHECK(removed.check_all().exact());
  running.stop();
}

TEST_CASE("poison rows and a full queue of one outbox delay the others by nothing") {
  const stage poisoned;
  const stage quiet;
  const outbox_folder outboxes;
  outboxes.add("poisoned", poisoned, "[retry]\nschedule = [\"1ms\"]\n");
  outboxes.add("quiet", quiet);
  asked_relay running{quiet, outboxes.flags()};
  auto session = poisoned.connect();
  for (int i = 0; i < 3; ++i) insert_closing(session, std::to_string(i));
  quiet.add_events(200, 4);
  CHECK(quiet.check_all().exact());
  eventually(
      "the poison is dead", [&] { return poisoned.count("dead") == 3; }, time_limit);
  CHECK(metric(running, labelled("outboxd_events_dead_total", "quiet")) == 0);
  CHECK(metric(running, "outboxd_reconnects_total{outbox=\"quiet\",peer=\"broker\"}") == 0);
  running.stop();
}

TEST_CASE("http.ready_requires names the outboxes that make the process ready") {
  const stage good;
  const outbox_folder outboxes;
  outboxes.add("good", good);
  outboxes.write("away", "[database]\nurl = \"postgresql://nobody@127.0.0.1:1/none\"\n");
  const asked_relay one{good, outboxes.flags({"--http-ready-requires", "good"})};
  await_ready(one, "good");
  CHECK(one.get("/readyz").status == 200);
  const asked_relay both{good, outboxes.flags({"--http-ready-requires", "good,away"})};
  await_ready(both, "away", false);
  CHECK(both.get("/readyz").status == 503);
  const asked_relay unknown{good, outboxes.flags({"--http-ready-requires", "god"})};
  await_ready(unknown, "good");
  CHECK(unknown.get("/readyz").status == 503);
  CHECK(reasons(unknown, "god") == std::vector<std::string>{"configuration"});
}

TEST_CASE("a folder in which nothing is right ends the start with the reason") {
  const outbox_folder outboxes;
  const auto empty = run_with(outboxes, {"run"});
  CHECK(empty.exited(2));
  CHECK(has(empty.text(), "has no file whose name ends with .toml"));
  outboxes.write("a", "[relay]\nlanes = 0\n");
  outboxes.write("b", "[http]\nlisten = \"off\"\n");
  const auto wrong = run_with(outboxes, {"run"});
  CHECK(wrong.exited(2));
  CHECK(has(wrong.text(), "outbox a: relay.lanes = '0'"));
  const auto missing = run_outboxd({"run", "--outboxes", "/nonexistent"});
  CHECK(missing.exited(2));
  CHECK(has(missing.text(), "/nonexistent"));
  const auto no_file = run_outboxd({"run", "postgresql://u:canary@h/x.toml"});
  CHECK(no_file.exited(2));
  CHECK(has(no_file.text(), "argument 2 is not a flag and was not expected"));
  CHECK_FALSE(has(no_file.text(), "canary"));
  const auto twins = run_outboxd({"run", "/x/same.toml", "/y/same.toml"});
  CHECK(twins.exited(2));
  CHECK(has(twins.text(), "two files give the outbox same"));
}

TEST_CASE("commands take --outbox: a name, or all where they can work on all") {
  const stage a;
  const stage b;
  const outbox_folder outboxes;
  outboxes.add("a", a);
  outboxes.add("b", b);
  a.add_events(3);
  const auto none = run_with(outboxes, {"status"});
  CHECK(none.exited(2));
  CHECK(has(none.text(), "give --outbox all or one of: a, b"));
  const auto unknown = run_with(outboxes, {"status", "--outbox", "c"});
  CHECK(unknown.exited(2));
  CHECK(has(unknown.text(), "there is no outbox 'c'; there are: a, b"));
  const auto one = run_with(outboxes, {"status", "--json", "--outbox", "a"});
  CHECK(one.exited(0));
  CHECK(has(one.text(), "\"outbox\": \"a\""));
  const auto all = run_with(outboxes, {"status", "--outbox", "all"});
  CHECK(all.exited(0));
  CHECK(has(all.text(), "outbox a:\n"));
  CHECK(has(all.text(), "outbox b:\n"));
  const auto cancelled = run_with(outboxes, {"events", "cancel", "--all", "--outbox", "all"});
  CHECK_MESSAGE(cancelled.exited(0), cancelled.text());
  CHECK(a.count("dead") == 3);
  const auto checked = run_with(outboxes, {"migrate", "--check", "--outbox", "all"});
  CHECK_MESSAGE(checked.exited(0), checked.text());
  const auto watched = run_with(outboxes, {"status", "--watch", "--outbox", "all"});
  CHECK(watched.exited(2));
  const auto adopted = run_with(outboxes, {"adopt", "--table", "t", "--outbox", "all"});
  CHECK(adopted.exited(2));
  CHECK(has(adopted.text(), "works on one outbox"));
  const auto alone = run_outboxd({"status", "--outbox", "a"});
  CHECK(alone.exited(2));
  CHECK(has(alone.text(), "there is no folder of outboxes"));
}

}  // namespace outboxd::test::outboxes_test
