// The console of several outboxes: a list, the worst first, and the pages of each.
#include <doctest/doctest.h>

#include "acting_console.hpp"
#include "outbox_folder.hpp"

namespace outboxd::test::console_outboxes_test {
namespace {

nlohmann::json row_of(const running_console& at, const std::string& name) {
  const auto all = at.json("/api/outboxes");
  for (const auto& row : all.at("outboxes"))
    if (row.at("name") == name) return row;
  return nullptr;
}

}  // namespace

TEST_CASE("the list has a row for each outbox, the worst first, and one click leads to the pages of each") {
  const stage well;
  const stage stuck;
  const outbox_folder outboxes;
  outboxes.add("a-well", well);
  outboxes.add("b-stuck", stuck);
  outboxes.write("c-away", "[database]\nurl = \"postgresql://nobody@127.0.0.1:1/none\"\n");
  outboxes.write("d-wrong", "[relay]\nlanes = 0\n");
  auto session = stuck.connect();
  add_dead(session, stuck);
  asked_relay relays{well, outboxes.flags()};
  await_ready(relays, "a-well");
  await_ready(relays, "b-stuck");
  const operator_desk desk{well};
  const running_console console{desk, outboxes.flags({"--console-relay-urls", "http://" + relays.address()})};

  eventually(
      "the list knows the state of each",
      [&] {
        return row_of(console, "a-well").at("headline").at("level") == "ok" &&
               row_of(console, "b-stuck").at("headline").at("code") == "dead" &&
               row_of(console, "c-away").at("headline").at("code") == "database_away";
      },
      time_limit);
  const auto all = console.json("/api/outboxes");
  const auto& rows = all.at("outboxes");
  REQUIRE(rows.size() == 4);
  CHECK(rows[3].at("name") == "a-well");
  CHECK(row_of(console, "b-stuck").at("dead").at("count") == 1);
  const auto why = row_of(console, "d-wrong").at("headline").at("text").get<std::string>();
  CHECK(why.find("relay.lanes = '0'") != std::string::npos);

  CHECK(console.get("/outbox/a-well").status == 308);
  CHECK(console.get("/outbox/a-well/").status == 200);
  CHECK(console.get("/outbox/a-well/app.js").status == 200);
  CHECK(console.get("/outbox/none/").status == 404);
  CHECK(console.json("/outbox/b-stuck/api/session").at("outbox") == "b-stuck");
  CHECK(console.json("/outbox/b-stuck/api/now").at("status").at("events").at("dead").at("count") == 1);
  CHECK(console.json("/outbox/a-well/api/now").at("relays").at(0).at("status").at("shards_led") == 1);
}

TEST_CASE("who may act is decided for each outbox, with one login for all") {
  const stage open;
  const stage guarded;
  const outbox_folder outboxes;
  outboxes.add("open", open);
  outboxes.add("guarded", guarded, "[console]\naccess = \"read\"\n");
  for (const stage* one : {&open, &guarded}) {
    auto session = one->connect();
    add_dead(session, *one);
  }
  const operator_desk desk{open};
  const acting_console console{desk, outboxes.flags()};
  CHECK(console.get("/api/outboxes").status == 401);
  CHECK(console.get("/outbox/open/api/now").status == 401);
  const person who{console};
  CHECK(who.get("/api/outboxes").status == 200);
  const nlohmann::json retry{{"what", "retry"}, {"all", true}};
  const auto refused = who.post("/outbox/guarded/api/action/preview", retry);
  CHECK(refused.status == 403);
  const auto allowed = who.post("/outbox/open/api/action/preview", retry);
  CHECK_MESSAGE(allowed.status == 200, allowed.body);
  CHECK(guarded.count("dead") == 1);
}

}  // namespace outboxd::test::console_outboxes_test
