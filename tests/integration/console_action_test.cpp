// outboxd console: each action end to end, with its row in outbox.audit.
#include <doctest/doctest.h>

#include "acting_console.hpp"
#include "support/consumer.hpp"

namespace outboxd::test::console_action_test {
namespace {

using nlohmann::json;

std::string audit_of(database& session, const std::string& what) {
  return session.value(
      "SELECT concat_ws('|', a.selection, a.events, a.reason, a.who LIKE '% (outboxd console: act token, %')"
      " FROM outbox.audit AS a WHERE a.what = $1 ORDER BY a.id DESC LIMIT 1",
      {what});
}

}  // namespace

TEST_CASE("a group of dead events is retried from the console, and they arrive") {
  const stage on;
  const operator_desk desk{on};
  auto session = on.connect();
  for (int i = 0; i < 5; ++i) add_dead(session, on, std::to_string(i));
  session.exec("UPDATE outbox.event SET last_error_code = 'returned' WHERE aggregate_id <> '4'");
  const acting_console console{desk};
  const person somebody{console};
  const auto plan = somebody.preview({{"what", "retry"}, {"code", {"returned"}}, {"event_type", {on.key()}}});
  CHECK(plan.at("state") == "previewed");
  CHECK(plan.at("matched") == 4);
  CHECK(plan.at("events").size() == 4);
  CHECK(plan.at("events").at(0).at("aggregate_id") == "0");
  CHECK(plan.at("command") ==
        fmt::format("outboxd events retry --event-type {} --error-code returned", on.key()));
  CHECK(session.number("SELECT count(*) FROM outbox.event WHERE status = 'dead'") == 5);
  relay running{on};
  somebody.apply(plan, "the binding is back");
  const auto done = somebody.await(plan, "done");
  CHECK(done.at("changed") == 4);
  CHECK(done.at("handled") == 4);
  CHECK(done.at("otherwise").empty());
  CHECK(done.at("command").get<std::string>().ends_with("--reason 'the binding is back'"));
  on.await_published(4);
  consumer{on.queue()}.take(4, time_limit);
  CHECK(session.number("SELECT count(*) FROM outbox.event WHERE status = 'dead'") == 1);
  CHECK(audit_of(session, "retry") ==
        fmt::format("--event-type {} --error-code returned|4|the binding is back|t", on.key()));
  running.stop();
}

TEST_CASE("dead events that are named are discarded from the console, and are kept without their payloads") {
  const stage on;
  const operator_desk desk{on};
  auto session = on.connect();
  const auto first = add_dead(session, on);
  const auto other = add_dead(session, on);
  const acting_console console{desk};
  const auto done = person{console}.act({{"what", "discard"}, {"id", {first}}});
  CHECK(done.at("changed") == 1);
  CHECK(session.value("SELECT id FROM outbox.event") == other);
  CHECK(session.value("SELECT id FROM outbox.discarded") == first);
  CHECK(audit_of(session, "discard") == fmt::format("--id {}|1|ticket 7|t", first));
}

TEST_CASE("published events are replayed from the console to another key, at a rate") {
  const stage on;
  const operator_desk desk{on};
  auto session = on.connect();
  const stage other;  // whose queue gets what has its own key
  on.add_events(3, 1);
  relay running{on};
  on.await_published(3);
  const auto first = consumer{on.queue()}.take(3, time_limit);
  const acting_console console{desk};
  const auto done = person{console}.act({{"what", "replay"},
                                         {"all", true},
                                         {"exchange", "outbox"},
                                         {"routing_key", other.key()},
                                         {"rate", 1000}});
  CHECK(done.at("changed") == 3);
  const auto again = consumer{other.queue()}.take(3, time_limit);
  for (std::size_t i = 0; i < first.size(); ++i) CHECK(again[i].message_id() == first[i].message_id());
  CHECK(done.at("command").get<std::string>().starts_with(
      fmt::format("outboxd events replay --all --rate 1000 --to-exchange outbox --to-routing-key {} --reason",
                  other.key())));
  CHECK(audit_of(session, "replay").ends_with("|3|ticket 7|t"));
  running.stop();
}

TEST_CASE(
    "what has not been sent is postponed and cancelled from the console, and it says what was in time") {
  const stage on;
  const operator_desk desk{on};
  auto session = on.connect();
  const acting_console console{desk};
  const person somebody{console};
  session.exec(
      "SELECT outbox.emit('order', n::text, $1, '{}', available_at => now() + interval '1 h')"
      " FROM generate_series(1, 3) AS n",
      {on.key()});
  const auto later = somebody.act({{"what", "postpone"}, {"event_type", {on.key()}}, {"to", "3h"}});
  CHECK(later.at("in_time") == 3);
  CHECK(later.at("too_late") == 0);
  CHECK(session.number("SELECT count(*) FROM outbox.event WHERE available_at > now() + interval '2 h'") == 3);
  // One goes out after the preview.
  const auto plan = somebody.preview({{"what", "cancel"}, {"all", true}});
  CHECK(plan.at("matched") == 3);
  session.exec("UPDATE outbox.event SET available_at = now() WHERE aggregate_id = '2'");
  relay running{on};
  on.await_published(1);
  somebody.apply(plan);
  const auto done = somebody.await(plan, "done");
  CHECK(done.at("changed") == 2);
  CHECK(done.at("otherwise") == json{{"published", 1}});
  CHECK(done.at("in_time") == 2);
  CHECK(done.at("too_late") == 1);
  CHECK(session.number("SELECT count(*) FROM outbox.event WHERE last_error_code = 'cancelled'") == 2);
  CHECK(audit_of(session, "postpone") == fmt::format("--event-type {} --to 3h|3|ticket 7|t", on.key()));
  CHECK(audit_of(session, "cancel") == "--all|2|ticket 7|t");
  running.stop();
}

TEST_CASE("a type is paused and resumed from the console, and relays obey") {
  const stage on;
  const operator_desk desk{on};
  auto session = on.connect();
  const acting_console console{desk};
  const person somebody{console};
  const stage other;  // whose queue gets what is not paused
  on.add_events(4);
  const auto plan = somebody.preview({{"what", "pause"}, {"event_type", {on.key(), "misspelled"}}});
  CHECK(plan.at("waiting") == 4);
  CHECK(plan.at("paused").empty());
  REQUIRE(plan.at("warnings").size() == 1);
  CHECK(plan.at("warnings").at(0).get<std::string>().find("'misspelled'") != std::string::npos);
  somebody.apply(plan);
  CHECK(somebody.await(plan, "done").at("paused").size() == 2);
  CHECK(audit_of(session, "pause") ==
        fmt::format("--event-type misspelled --event-type {}|0|ticket 7|t", on.key()));
  relay running{on};
  session.exec("SELECT outbox.emit('order', '9', $1, '{}')", {other.key()});
  on.await_published(1);
  CHECK(session.number("SELECT count(*) FROM outbox.event WHERE status = 'published' AND event_type = $1",
                       {on.key()}) == 0);
  const auto end = somebody.preview({{"what", "resume"}, {"all", true}});
  CHECK(end.at("ends").size() == 2);
  somebody.apply(end);
  const auto done = somebody.await(end, "done");
  CHECK(done.at("ended") == 2);
  CHECK(done.at("paused").empty());
  eventually(
      "what was paused goes out",
      [&] {
        return session.number(
                   "SELECT count(*) FROM outbox.event WHERE status = 'published' AND event_type = $1",
                   {on.key()}) == 4;
      },
      time_limit);
  const auto exchange =
      somebody.preview({{"what", "pause"}, {"exchange", {"out*"}}, {"routing_key", {"no"}}});
  somebody.apply(exchange);
  somebody.await(exchange, "done");
  const auto part = somebody.preview({{"what", "resume"}, {"exchange", {"out*"}}});
  CHECK(part.at("ends").size() == 1);
  somebody.apply(part);
  CHECK(somebody.await(part, "done").at("paused").size() == 1);
  const auto rest = somebody.preview({{"what", "resume"}, {"routing_key", {"no"}}});
  somebody.apply(rest);
  CHECK(somebody.await(rest, "done").at("ended") == 1);
  // Nothing of that is paused any more: the preview says so.
  CHECK(somebody.preview({{"what", "resume"}, {"all", true}}).at("ends").empty());
  running.stop();
}

}  // namespace outboxd::test::console_action_test
