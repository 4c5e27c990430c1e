// console_headline_test: the first sentence of the page says what is going on, and the worst of it first.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "console/headline.hpp"

namespace console_headline_test {

using namespace outboxd::console;
using nlohmann::json;

namespace {

// One relay leads one shard, and everything is published.
json well() {
  const auto exact = [](int count) { return json{{"count", count}, {"exact", true}}; };
  json waiting = exact(0);
  waiting.update({{"scheduled", 0}, {"backing_off", 0}, {"parked", 0}});
  const json shard{{"shard", 0}, {"leader", "outboxd 0.1.0 on a"}, {"leader_pid", 7}, {"doorbell", "asleep"}};
  return {{"database", {{"up", true}}},
          {"status",
           {{"schema", "outbox"},
            {"errors", json::array()},
            {"events",
             {{"pending", exact(0)}, {"waiting", waiting}, {"dead", exact(0)}, {"published", exact(9'000)}}},
            {"oldest_due_age_seconds", nullptr},
            {"waits_by_destination", json::array()},
            {"paused", json::array()},
            {"culprits", json::array()},
            {"shards", {shard}},
            {"relays", {{{"name", "outboxd 0.1.0 on a"}, {"leads", {0}}}}}}},
          {"relays", json::array()},
          {"published_per_second", 0.0}};
}

struct changed {
  const char* what;
  json patch;  // RFC 7396, of `well`
  headline expected;
};

json pending(int count) {
  return {{"events", {{"pending", {{"count", count}}}}}};
}

json with(json one, const json& other) {
  one.merge_patch(other);
  return one;
}

json status(const json& patch) {
  return {{"status", patch}};
}

const json all_paused{{"part", "everything"},
                      {"name", nullptr},
                      {"since", "2026-01-31T14:00:00+00:00"},
                      {"who", "bob"},
                      {"reason", "ticket 7"}};
const json type_paused{
    {"part", "event_type"}, {"name", "order.created"}, {"since", "s"}, {"who", "bob"}, {"reason", nullptr}};
const json exchange_paused{
    {"part", "exchange"}, {"name", ""}, {"since", "s"}, {"who", "bob"}, {"reason", nullptr}};
const json holder{{"keeps_from", "writing"},
                  {"mode", "ShareLock"},
                  {"pid", 4711},
                  {"user", "u"},
                  {"application", "backup"}};
const json no_broker{{"url", "http://a:9464"},
                     {"error", nullptr},
                     {"status",
                      {{"ready", false},
                       {"broker_blocked", true},
                       {"warnings", json::array()},
                       {"reasons",
                        {{{"code", "broker_blocked"},
                          {"message", "RabbitMQ takes nothing: low on memory"},
                          {"since", "2026-01-31T14:02:00Z"}}}}}}};

const json silent{{"url", "http://a:9464"}, {"status", nullptr}, {"error", "http://a:9464 does not answer"}};
const json warning{
    {"url", "http://a:9464"},
    {"error", nullptr},
    {"status",
     {{"ready", true},
      {"reasons", json::array()},
      {"warnings", {{{"code", "notification_queue"}, {"message", "the queue fills"}, {"since", "s"}}}}}}};
const json nobody = status({{"relays", json::array()}});
const json no_leader = status({{"shards", {{{"shard", 0}, {"leader", nullptr}}}}});
const json returned{{"code", "returned"}, {"exchange", "shop"}, {"routing_key", "a.b"}, {"events", 1'204}};

std::vector<changed> table() {
  return {
      {"nothing to do", json::object(), {"well", "ok", "Everything that is due is published."}},
      {"an empty outbox",
       status({{"events", {{"published", {{"count", 0}}}}}}),
       {"well", "ok", "The outbox has no published event yet, and nothing waits."}},
      {"one event is scheduled",
       status({{"events", {{"waiting", {{"scheduled", 1}}}}}}),
       {"well", "ok", "Everything that is due is published; 1 event is scheduled for later."}},
      {"a million is scheduled",
       status({{"events", {{"waiting", {{"scheduled", 100'001}, {"exact", false}}}}}}),
       {"well", "ok",
        "Everything that is due is published; more than 100,000 events are scheduled for later."}},
      {"publishing",
       {{"published_per_second", 1'412.4}},
       {"well", "ok", "Publishing 1,412/s, and nothing is overdue."}},
      {"publishing, a little behind",
       with({{"published_per_second", 4.25}}, status({{"oldest_due_age_seconds", 1.6}})),
       {"well", "ok", "Publishing 4.2/s, 1.6 s behind."}},
      {"dead events",
       status({{"events", {{"dead", {{"count", 1}}}}}}),
       {"dead", "warn", "1 event is dead and waits for a decision. Everything that is due is published."}},
      {"dead events of two reasons",
       status({{"events", {{"dead", {{"count", 15}}}}},
               {"dead_by_code",
                {{{"code", "returned"}, {"events", 12}}, {{"code", "unencodable"}, {"events", 3}}}}}),
       {"dead", "warn",
        "15 events are dead and wait for a decision: no queue is bound for that key (returned); no message "
        "can be made of them (unencodable). Everything that is due is published."}},
      {"dead events of many reasons, and of none",
       status({{"events", {{"dead", {{"count", 4}}}}},
               {"dead_by_code", {{{"code", "a"}}, {{"code", nullptr}}, {{"code", "c"}}, {{"code", "d"}}}}}),
       {"dead", "warn",
        "4 events are dead and wait for a decision: a; no reason is recorded; c; and others. Everything that "
        "is due is published."}},
      {"a dead event, and a type is paused",
       status({{"events", {{"dead", {{"count", 1}}}}}, {"paused", {type_paused}}}),
       {"dead", "warn",
        "1 event is dead and waits for a decision. Event type order.created is paused by bob. Everything "
        "that is due is published."}},
      {"dead events, and others that wait at a destination",
       status({{"events", {{"dead", {{"count", 1'500}}}}},
               {"dead_by_code", {{{"code", "unencodable"}, {"events", 1'000}}}},
               {"waits_by_destination", {returned}}}),
       {"dead", "warn",
        "1,500 events are dead, and 1,204 wait at exchange \"shop\" with key a.b: no queue is bound for that "
        "key (returned). The rest goes out."}},
      {"a relay that was named does not answer",
       {{"relays", {silent}}},
       {"relay_silent", "warn",
        "A relay cannot be asked: http://a:9464 does not answer. Everything that is due is published."}},
      {"a warning of a relay",
       {{"relays", {warning}}},
       {"relay_warns", "warn", "A relay warns: the queue fills. Everything that is due is published."}},
      {"a type is paused",
       status({{"paused", {type_paused}}}),
       {"some_paused", "warn",
        "Event type order.created is paused by bob. Everything that is due is published."}},
      {"a destination does not take its events",
       status({{"waits_by_destination", {returned}}}),
       {"destination", "warn",
        "1,204 events wait at exchange \"shop\" with key a.b: no queue is bound for that key (returned). The "
        "rest goes out."}},
      {"a destination that fails for several reasons: all that wait there are counted",
       status({{"waits_by_destination",
                {{{"code", "nacked"}, {"exchange", nullptr}, {"routing_key", "a.b"}, {"events", 8}},
                 {{"code", "refused"}, {"exchange", "x"}, {"routing_key", "a.b"}, {"events", 3}},
                 {{"code", "unconfirmed"}, {"exchange", nullptr}, {"routing_key", "a.b"}, {"events", 1}}}}}),
       {"destination", "warn",
        "9 events wait at its route's exchange with key a.b: a queue is full or has failed (nacked). The "
        "rest goes out."}},
      {"far behind",
       with({{"published_per_second", 800.0}},
            status(with(pending(50'000), {{"oldest_due_age_seconds", 200.0}}))),
       {"behind", "warn",
        "Behind: the oldest due event has waited for 3 min 20 s; 50,000 events pending, 800/s published."}},
      {"a relay that hangs",
       with({{"relays", {silent}}}, status(with(pending(7), {{"oldest_due_age_seconds", 12.0}}))),
       {"behind", "warn",
        "Behind: the oldest due event has waited for 12 s; 7 events pending, 0.0/s published. The relay at "
        "http://a:9464 does not answer."}},
      {"a relay that hangs has lost its lead",
       with({{"relays", {silent}}}, no_leader),
       {"unled", "bad",
        "A relay runs, and does not lead; nothing waits. The relay at http://a:9464 does not answer."}},
      {"nobody leads", no_leader, {"unled", "bad", "A relay runs, and does not lead; nothing waits."}},
      {"an alarm of the broker",
       with({{"relays", {no_broker}}}, status(pending(18'230))),
       {"relay_not_ready", "bad",
        "The relay cannot publish: RabbitMQ takes nothing: low on memory; 18,230 events wait, and nothing is "
        "lost."}},
      {"one relay of two is well", {{"relays", {no_broker, warning}}}, {"relay_warns", "warn", ""}},
      {"no relay, and nothing waits", nobody, {"no_relay", "warn", "No relay runs; nothing waits."}},
      {"no relay, and an event waits",
       with(nobody, status(pending(1))),
       {"no_relay", "bad", "No relay runs; 1 event waits, and nothing is lost."}},
      {"a row of the table shard is gone",
       status({{"shards", {{{"shard", 1}, {"leader", "a"}}}}}),
       {"shard_missing", "bad",
        "The table shard of the outbox has one row, which is not what migrate has made."}},
      {"the exchange without a name is paused",
       status({{"paused", {exchange_paused}}}),
       {"some_paused", "warn", "Exchange '' is paused by bob. Everything that is due is published."}},
      {"everything is paused",
       status(with(pending(3), {{"paused", {type_paused, all_paused}}})),
       {"all_paused", "warn", "Everything is paused by bob (ticket 7); 3 events wait, and nothing is lost."}},
      {"somebody holds a lock",
       status(with(pending(2), {{"culprits", {holder}}})),
       {"lock_holder", "bad",
        "A session is in the way: pid 4711 (user u, application backup) holds ShareLock and keeps relays "
        "from "
        "writing; 2 events wait, and nothing is lost."}},
      {"who only keeps a leader awake is no problem",
       status({{"culprits", {with(holder, {{"keeps_from", "sleeping"}})}}}),
       {"well", "ok", "Everything that is due is published."}},
      {"there is no outbox",
       status({{"events", nullptr}, {"relays", nullptr}, {"errors", {"no table outbox.event"}}}),
       {"outbox_unread", "bad", "The outbox in schema outbox cannot be read: no table outbox.event."}},
      {"the events cannot be read, and the relays can",
       status({{"events", nullptr}, {"errors", {"no column exception"}}}),
       {"outbox_unread", "bad", "The outbox in schema outbox cannot be read: no column exception."}},
      {"somebody holds a lock that keeps the console from reading, too",
       status({{"events", nullptr}, {"errors", {"lock timeout"}}, {"culprits", {holder}}}),
       {"lock_holder", "bad",
        "A session is in the way: pid 4711 (user u, application backup) holds ShareLock and keeps relays "
        "from "
        "writing; how many events wait is not known."}},
      {"PostgreSQL is away",
       {{"database", {{"up", false}, {"error", "connection refused"}, {"since", "2026-01-31T14:00:00Z"}}}},
       {"database_away", "bad", "PostgreSQL cannot be asked: connection refused."}},
  };
}

}  // namespace

TEST_CASE("each state has its sentence") {
  for (const auto& [what, patch, expected] : table()) {
    CAPTURE(what);
    const auto found = headline_of(with(well(), patch));
    CHECK(found.code == expected.code);
    CHECK(found.level == expected.level);
    if (!expected.text.empty()) CHECK(found.text == expected.text);
    if (found.level != "ok") CHECK_FALSE(found.todo.empty());
  }
}

TEST_CASE("of several states the worst is told: each beats all that stand before it in the table") {
  json all = well();
  std::string before = "well";
  for (const auto* what :
       {"a relay that was named does not answer", "a type is paused",
        "a destination does not take its events", "dead events", "far behind", "nobody leads",
        "no relay, and an event waits", "somebody holds a lock", "PostgreSQL is away"}) {
    CAPTURE(what);
    for (const auto& one : table())
      if (std::string_view(one.what) == what) all.merge_patch(one.patch);
    const auto found = headline_of(all).code;
    CHECK(found != before);
    before = found;
  }
}

TEST_CASE("what a relay tells wrongly is passed over") {
  for (const auto& wrong : {json{{"ready", "yes"}, {"reasons", "none"}, {"warnings", 7}}, json::object(),
                            json{{"reasons", {1, nullptr}}, {"warnings", {1, "x"}}}}) {
    const json relay{{"url", "http://a"}, {"error", nullptr}, {"status", wrong}};
    CHECK_NOTHROW(headline_of(with(well(), {{"relays", {relay}}})));
  }
}

TEST_CASE("parts that could not be read are no reason to say that all is well of them") {
  json now = well();
  now["status"].erase("relays");
  now["status"].erase("shards");
  CHECK(headline_of(now).code == "well");
  now["status"].erase("events");
  CHECK(headline_of(now).code == "outbox_unread");
}

TEST_CASE("numbers have separators") {
  CHECK(grouped(0) == "0");
  CHECK(grouped(999) == "999");
  CHECK(grouped(1'000) == "1,000");
  CHECK(grouped(-1'234'567) == "-1,234,567");
}

}  // namespace console_headline_test
