// outboxd events: one set of selectors for events of every status, and words where a status forbids a change.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <map>
#include <set>

#include "operator_desk.hpp"

namespace outboxd::test::events_verbs_test {
namespace {

// One event of each status, and no relay.
struct four_events {
  four_events() {
    for (const auto* status : {"pending", "waiting", "published", "dead"})
      id[status] = session.value(
          "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload, status, exception,"
          " available_at, published_at, last_error, last_error_code)"
          " SELECT 'order', s, $2, '{}', s::outbox.event_status,"
          " (CASE s WHEN 'dead' THEN 'dead' WHEN 'waiting' THEN 'backing_off' END)::outbox.event_exception,"
          " now() + CASE s WHEN 'waiting' THEN interval '1 hour' ELSE interval '0' END,"
          " CASE s WHEN 'published' THEN now() END, CASE s WHEN 'dead' THEN 'the reason' END,"
          " CASE s WHEN 'dead' THEN 'returned' END FROM (SELECT $1::text AS s) AS given"
          " RETURNING id",
          {status, on.key()});
  }

  std::string status_of(const std::string& which) {
    return session.value("SELECT status FROM outbox.event WHERE id = $1", {id.at(which)});
  }
  std::set<std::string> listed(const arguments& selectors) {
    arguments words{"events", "list"};
    words.insert(words.end(), selectors.begin(), selectors.end());
    std::set<std::string> out;
    for (const auto& one : desk.json(words)) out.insert(one.at("status").get<std::string>());
    return out;
  }

  const stage on;
  const operator_desk desk{on};
  database session = on.connect();
  std::map<std::string, std::string> id;
};

using names = std::set<std::string>;

}  // namespace

TEST_CASE_FIXTURE(four_events, "events of every status are listed and shown by the same selectors") {
  CHECK(listed({}) == names{"dead", "pending", "published", "waiting"});
  CHECK(listed({"--all"}).size() == 4);
  CHECK(listed({"--status", "waiting"}) == names{"waiting"});
  CHECK(listed({"--status", "dead"}) == names{"dead"});
  CHECK(listed({"--status", "dead", "--status", "pending"}) == names{"dead", "pending"});
  CHECK(listed({"--status", "dead", "--id", id.at("published")}).empty());
  CHECK(listed({"--error-code", "none", "--aggregate", "order/published"}) == names{"published"});
  CHECK(desk.run({"events", "list", "--status", "done"}).exited(2));
  const auto table = desk.run({"events", "list"});
  CHECK_MESSAGE(table.says("created               status     attempts"), table.text());
  CHECK(desk.json({"events", "list", "--by", "reason"}).size() == 2);
  CHECK(desk.json({"events", "list", "--by", "reason", "--status", "dead"}).at(0).at("code") == "returned");
  for (const auto& [status, one] : id) {
    CAPTURE(status);
    CHECK(desk.json({"events", "show", "--id", one}).at("status") == status);
    const auto shown = desk.run({"events", "show", "--id", one});
    CHECK_MESSAGE(shown.says("status        " + status), shown.text());
    CHECK_MESSAGE(shown.says("published     2") == (status == "published"), shown.text());
    CHECK_MESSAGE(shown.says("available at") == (status != "published"), shown.text());
    CHECK(desk.run({"dead", "show", "--id", one}).exited(status == "dead" ? 0 : 1));
  }
}

TEST_CASE_FIXTURE(four_events, "what the status of an event does not allow is said, with what it allows") {
  const std::map<std::string, std::string> instead{{"pending", "use `outboxd events cancel`"},
                                                   {"waiting", "use `outboxd events cancel`"},
                                                   {"published", "use `outboxd events replay`"},
                                                   {"dead", "use `outboxd events retry`"}};
  const std::map<std::string, names> allowed{{"retry", {"dead"}},
                                             {"discard", {"dead"}},
                                             {"replay", {"published"}},
                                             {"cancel", {"pending", "waiting"}}};
  for (const auto& [verb, statuses] : allowed)
    for (const auto& [status, one] : id) {
      CAPTURE(verb);
      CAPTURE(status);
      if (statuses.contains(status)) continue;
      const auto words = fmt::format("event {} is {}, so events {} is not possible; {}", one, status, verb,
                                     instead.at(status));
      const auto named = desk.run({"events", verb, "--id", one});
      CHECK(named.exited(0));
      CHECK_MESSAGE(named.says(words), named.text());
      const auto selected = desk.run({"events", verb, "--status", status});
      CHECK(selected.exited(2));
      CHECK_MESSAGE(selected.says(instead.at(status)), selected.text());
      CHECK(status_of(status) == status);
    }
  // The older names say what they said.
  CHECK(desk.text({"dead", "retry", "--id", id.at("published")}) == "dead retry: 0 events requeued");
}

TEST_CASE_FIXTURE(four_events,
                  "events are changed by their status, and the audit has the words of the command") {
  CHECK(desk.json({"events", "cancel", "--status", "waiting"}).at("in_time") == 1);
  CHECK(status_of("waiting") == "dead");
  CHECK(status_of("pending") == "pending");
  CHECK(desk.json({"events", "retry", "--error-code", "returned"}).at("changed") == 1);
  CHECK(status_of("dead") == "waiting");
  CHECK(desk.text({"events", "discard", "--status", "dead"}) == "events discard: 1 event deleted");
  CHECK(desk.text({"events", "replay", "--all", "--dry-run"})
            .starts_with("events replay would change 1 event\n"));
  CHECK(desk.json({"events", "replay", "--status", "published"}).at("changed") == 1);
  CHECK(status_of("published") == "waiting");
  CHECK(session.value("SELECT string_agg(substring(who FROM 'outboxd [a-z ]+') || ': ' || selection, ','"
                      " ORDER BY id) FROM outbox.audit") ==
        "outboxd events cancel: --status waiting,outboxd events retry: --error-code returned,"
        "outboxd events discard: --status dead,outboxd events replay: --status published");
}

TEST_CASE_FIXTURE(four_events, "more than a thousand events of a status are retried only with --yes") {
  session.exec(
      "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload, status, exception)"
      " SELECT 'order', n, 'many', '{}', 'dead', 'dead' FROM generate_series(1, 1000) AS n");
  const arguments words{"events", "retry", "--status", "dead"};
  const auto refused = desk.run(words);
  CHECK(refused.exited(2));
  CHECK_MESSAGE(refused.says("events retry would change 1001 events; confirm with --yes"), refused.text());
  CHECK(desk.json({"events", "retry", "--event-type", "many"}).at("changed") == 1'000);
  CHECK(desk.json(words).at("changed") == 1);
}

}  // namespace outboxd::test::events_verbs_test
