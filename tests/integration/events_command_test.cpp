// outboxd events cancel, postpone and edit: what has not been sent goes out as its row says by then, and the
// answer tells of each event whether that was in time.
#include <doctest/doctest.h>

#include "operator_desk.hpp"
#include "patient_relay.hpp"
#include "rotation.hpp"
#include "support/suspended_queue.hpp"

namespace outboxd::test::events_command_test {
namespace {

std::string add(database& session, const stage& on, const std::string& aggregate,
                const std::string& payload = "{\"says\": \"before\"}") {
  return session.value(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload)"
      " VALUES ('order', $1, $2, $3) RETURNING id",
      {aggregate, on.key(), payload});
}

std::string status_of(database& session, const std::string& id) {
  return session.value(
      "SELECT status || ' ' || coalesce(last_error_code, '-') FROM outbox.event WHERE id = $1", {id});
}

}  // namespace

TEST_CASE("without a relay events are cancelled, postponed and edited, in time, and audited") {
  const stage on;
  const operator_desk desk{on};
  auto session = on.connect();
  const auto cancelled = add(session, on, "1");
  const auto postponed = add(session, on, "2");
  const auto edited = add(session, on, "3");
  const auto left = add(session, on, "4");
  CHECK(desk.json({"events", "cancel", "--id", cancelled, "--dry-run"}).at("matched") == 1);
  CHECK(session.number("SELECT count(*) FROM outbox.event WHERE status = 'pending'") == 4);
  const auto answer = desk.json({"events", "cancel", "--id", cancelled, "--reason", "ticket 4711"});
  CHECK(answer.at("in_time") == 1);
  CHECK(answer.at("events").at(0).at("id") == cancelled);
  CHECK(answer.at("events").at(0).at("in_time") == true);
  CHECK(status_of(session, cancelled) == "dead cancelled");
  CHECK(desk.json({"events", "postpone", "--id", postponed, "--to", "2h"}).at("in_time") == 1);
  CHECK(session.number("SELECT count(*) FROM outbox.event WHERE id = $1 AND exception = 'scheduled'"
                       " AND available_at > now() + interval '119 minutes'",
                       {postponed}) == 1);
  const secret_file payload{on.queue() + ".payload"};
  payload.write("{\"says\": \"after\"}");
  const auto key = on.key("elsewhere");
  CHECK(
      desk.json({"events", "edit", "--id", edited, "--set-payload", payload.path(), "--set-routing-key", key})
          .at("in_time") == 1);
  CHECK(session.value("SELECT payload ->> 'says' || routing_key FROM outbox.event WHERE id = $1", {edited}) ==
        "after" + key);
  CHECK(session.value(
            "SELECT string_agg(what || ' ' || events || ' ' || coalesce(reason, '-'), ',' ORDER BY id)"
            " FROM outbox.audit") == "cancel 1 ticket 4711,postpone 1 -,edit 1 -");
  relay running{on};
  on.await_published(2);
  history seen;
  on.read_queue(seen);
  CHECK(seen.events() == 2);
  CHECK(seen.delivered(edited));
  CHECK(seen.delivered(left));
  running.stop();
}

TEST_CASE("what has been published already is too late, and is left as it is") {
  const stage on;
  const operator_desk desk{on};
  auto session = on.connect();
  relay running{on};
  const auto id = add(session, on, "1");
  on.await_published(1);
  CHECK(desk.text({"events", "cancel", "--id", id}).ends_with("events cancel: 0 in time, 0 too late"));
  CHECK(status_of(session, id) == "published -");
  running.stop();
}

TEST_CASE("what is in flight when it is cancelled is published, and says that it was changed after that") {
  const stage on;
  const operator_desk desk{on};
  auto session = on.connect();
  patient_relay running{on};
  std::string id;
  {
    const suspended_queue hangs{on.queue()};
    id = add(session, on, "1");
    eventually(
        "it is on its way", [&] { return metric(running, "outboxd_confirms_in_flight") == 1; }, time_limit);
    desk.json({"events", "cancel", "--id", id});
    CHECK(status_of(session, id) == "dead cancelled");
  }
  eventually(
      "its mark says so", [&] { return status_of(session, id) == "published changed_after_send"; },
      time_limit);
  running.wait_line("was changed after it was sent", time_limit);
  CHECK(metric(running, "outboxd_events_changed_after_send_total") == 1);
  running.stop();
}

TEST_CASE("what waits for a destination is given up at once by its exchange, routing key and error code") {
  const stage on;
  const operator_desk desk{on};
  auto session = on.connect();
  const auto gone = add(session, on, "1");
  const auto other_key = add(session, on, "2");
  const auto other_code = add(session, on, "3");
  const auto waits = [&](const std::string& id, const std::string& key, const std::string& code) {
    session.exec(
        "UPDATE outbox.event SET status = 'waiting', exception = 'backing_off', available_at = now() + '1 h',"
        " failed_exchange = 'gone', failed_routing_key = $2, last_error_code = $3 WHERE id = $1",
        {id, key, code});
  };
  waits(gone, "order.created", "refused");
  waits(other_key, "invoice.created", "refused");
  waits(other_code, "order.paid", "returned");
  const arguments which{"events",        "cancel",  "--exchange",   "go?e",
                        "--routing-key", "order.*", "--error-code", "refused"};
  auto dry = which;
  dry.push_back("--dry-run");
  const auto preview = desk.json(dry);
  CHECK(preview.at("matched") == 1);
  CHECK(preview.at("events").at(0).at("id") == gone);
  CHECK(status_of(session, gone) == "waiting refused");
  CHECK(desk.json(which).at("in_time") == 1);
  CHECK(status_of(session, gone) == "dead cancelled");
  CHECK(status_of(session, other_key) == "waiting refused");
  CHECK(status_of(session, other_code) == "waiting returned");
  CHECK(session.value("SELECT selection FROM outbox.audit") ==
        "--exchange 'go?e' --routing-key 'order.*' --error-code refused");
  // What is edited has another destination from then on.
  desk.json({"events", "edit", "--exchange", "gone", "--set-exchange", "outbox", "--by-route"});
  CHECK(desk.json({"events", "cancel", "--exchange", "gone", "--dry-run"}).at("matched") == 0);
  CHECK(desk.json({"events", "cancel", "--exchange", "outbox", "--dry-run"}).at("matched") == 2);
}

TEST_CASE("dead events are edited and retried in one step, and nothing else is") {
  const stage on;
  const operator_desk desk{on};
  auto session = on.connect();
  const auto mistyped = add(session, on, "1");
  const auto cancelled = add(session, on, "2");
  const auto unsent = add(session, on, "3");
  desk.json({"events", "cancel", "--id", mistyped, "--id", cancelled});
  session.exec(
      "UPDATE outbox.event SET last_error_code = 'returned', failed_routing_key = 'oder', attempts = 3"
      " WHERE id = '" +
      mistyped + "'");
  const auto key = on.key("mended");
  // Without --retry dead events are none of its business, and it says so.
  const auto none = desk.run({"events", "edit", "--id", mistyped, "--set-routing-key", key});
  CHECK(none.exited(0));
  CHECK_MESSAGE(none.text().find("use --retry to edit dead events") != std::string::npos, none.text());
  CHECK(status_of(session, mistyped) == "dead returned");
  const auto edit = [&](const std::string& selector, const std::string& value) {
    return desk.json({"events", "edit", selector, value, "--set-routing-key", key, "--retry"});
  };
  CHECK(desk.text({"events", "edit", "--id", unsent, "--set-routing-key", key, "--retry"})
            .ends_with("events edit: 0 events edited and requeued"));
  CHECK(edit("--error-code", "returned").at("changed") == 1);
  CHECK(session.value("SELECT concat_ws(' ', status, exception, attempts, routing_key = $2, first_failed_at,"
                      " failed_routing_key) FROM outbox.event WHERE id = $1",
                      {mistyped, key}) == "waiting backing_off 0 t");
  CHECK(status_of(session, cancelled) == "dead cancelled");
  CHECK(session.value("SELECT what || ' ' || events || ' ' || selection FROM outbox.audit"
                      " WHERE what = 'edit' ORDER BY id DESC LIMIT 1") ==
        fmt::format("edit 1 --error-code returned --set-routing-key {} --retry", key));
  relay running{on};
  on.await_published(2);
  history seen;
  on.read_queue(seen);
  CHECK(seen.delivered(mistyped));
  CHECK(seen.delivered(unsent));
  running.stop();
}

TEST_CASE("a file that is no JSON, a time that has passed and an edit of nothing are refused") {
  const stage on;
  const operator_desk desk{on};
  auto session = on.connect();
  const auto id = add(session, on, "1");
  const secret_file payload{on.queue() + ".payload"};
  payload.write("canary-4711 {");
  const auto bad = desk.run({"events", "edit", "--id", id, "--set-payload", payload.path()});
  CHECK(bad.exited(1));
  CHECK_MESSAGE(bad.text().find("canary-4711") == std::string::npos, bad.text());
  CHECK_MESSAGE(bad.says("a payload that is not JSON"), bad.text());
  CHECK(desk.run({"events", "edit", "--id", id}).exited(2));
  CHECK(desk.run({"events", "postpone", "--id", id, "--to", "2020-01-01"}).exited(2));
  CHECK(desk.run({"events", "postpone", "--id", id}).exited(2));
  CHECK(desk.run({"events", "cancel"}).exited(2));
  CHECK(status_of(session, id) == "pending -");
}

}  // namespace outboxd::test::events_command_test
