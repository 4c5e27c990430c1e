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

flow::pause of(paused_part part, std::string name) {
  return {.part = part, .name = std::move(name), .reason = {}, .until = {}};
}

}  // namespace

TEST_CASE("a pause holds the events of its event type, or of its aggregate type, and no others") {
  pauses all;
  all.set({of(paused_part::event_type, "created"), of(paused_part::aggregate_type, "order")});
  CHECK(all.holds(event_of("order", "paid")));
  CHECK(all.holds(event_of("cart", "created")));
  CHECK_FALSE(all.holds(event_of("created", "order")));
  CHECK_FALSE(all.holds(event_of("cart", "paid")));
  CHECK_FALSE(all.everything());
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
  CHECK_FALSE(all.holds(event_of("cart", "created")));
}

}  // namespace flow_pauses_test
