// flow_pauses_test: which events the pauses in force hold, and what has changed about them.
#include <doctest/doctest.h>

#include "flow/stream/pauses.hpp"

namespace flow_pauses_test {

using namespace outboxd;
using namespace outboxd::flow;

namespace {

event event_of(std::string_view aggregate_type, std::string_view event_type) {
  event out;
  out.aggregate_type = aggregate_type;
  out.event_type = event_type;
  return out;
}

constexpr destination somewhere{.exchange = "outbox", .routing_key = "key"};

flow::pause of(paused_part part, std::string name) {
  return {.part = part, .name = std::move(name), .reason = {}, .until = {}};
}

}  // namespace

TEST_CASE("a pause holds the events of its event type, or of its aggregate type, and no others") {
  pauses all;
  all.set({of(paused_part::event_type, "created"), of(paused_part::aggregate_type, "order")});
  CHECK(all.holds(event_of("order", "paid"), somewhere));
  CHECK(all.holds(event_of("cart", "created"), somewhere));
  CHECK_FALSE(all.holds(event_of("created", "order"), somewhere));
  CHECK_FALSE(all.holds(event_of("cart", "paid"), somewhere));
  CHECK_FALSE(all.everything());
  CHECK_FALSE(all.by_destination());
}

TEST_CASE("a pause holds the events whose exchange or whose routing key its glob takes, each by itself") {
  const auto held = [](const pauses& by, std::string_view exchange, std::string_view routing_key) {
    return by.holds(event_of("order", "paid"), {.exchange = exchange, .routing_key = routing_key});
  };
  pauses all;
  all.set({of(paused_part::exchange, "order*"), of(paused_part::routing_key, "?.created")});
  CHECK(all.by_destination());
  CHECK(held(all, "orders", "x"));
  CHECK(held(all, "outbox", "a.created"));
  CHECK_FALSE(held(all, "?.created", "orders"));
  CHECK_FALSE(held(all, "outbox", ".created"));
  CHECK_FALSE(held(all, "Orders", "x"));
  CHECK_FALSE(held(all, "", "x"));
  CHECK_FALSE(all.everything());
  all.set({of(paused_part::exchange, "")});
  CHECK(held(all, "", "x"));
  CHECK_FALSE(held(all, "outbox", ""));
  CHECK_FALSE(all.everything());
  all.set({});
  CHECK_FALSE(held(all, "", "x"));
  CHECK_FALSE(all.by_destination());
}

TEST_CASE("a part is known by its name in the table, and one that is not known pauses everything") {
  CHECK(part_named("event_type") == paused_part::event_type);
  CHECK(part_named("aggregate_type") == paused_part::aggregate_type);
  CHECK(part_named("exchange") == paused_part::exchange);
  CHECK(part_named("routing_key") == paused_part::routing_key);
  CHECK(part_named("everything") == paused_part::everything);
  CHECK(part_named("of a later version") == paused_part::everything);
}

TEST_CASE("a pause that comes or goes is told, and another reason or end of it is neither") {
  pauses all;
  auto created = of(paused_part::event_type, "created");
  const auto first = all.set({created});
  CHECK(first.more);
  CHECK_FALSE(first.fewer);
  created.reason = "ticket 4711";
  const auto same = all.set({created});
  CHECK_FALSE(same.more);
  CHECK_FALSE(same.fewer);
  const auto exchanged = all.set({of(paused_part::everything, "")});
  CHECK(exchanged.more);
  CHECK(exchanged.fewer);
  CHECK(all.everything());
  CHECK_FALSE(all.holds(event_of("cart", "created"), somewhere));
}

}  // namespace flow_pauses_test
