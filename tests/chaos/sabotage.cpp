#include "sabotage.hpp"

#include <fmt/format.h>

namespace outboxd::chaos {
namespace {

using namespace test;

constexpr auto insert =
    "INSERT INTO outbox.event (aggregate_type, aggregate_id, event_type, payload, status)"
    " VALUES ('order', 'sabotage', 'chaos.happened', '{}', $1::outbox.event_status) RETURNING id";

}  // namespace

void sabotage(const std::string& what, const arena& where, history& deliveries) {
  auto session = where.connect();
  if (what == "phantom") {
    delivery message;
    message.properties.message_id = "deadbeef-0000-4000-8000-000000000000";
    deliveries.record(message);
  } else if (what == "lost") {
    session.value(insert, {"pending"});
  } else if (what == "marked") {
    session.value(insert, {"published"});
  } else {
    delivery later;
    delivery earlier;
    earlier.properties.message_id = session.value(insert, {"published"});
    later.properties.message_id = session.value(insert, {"published"});
    deliveries.record(later);
    deliveries.record(earlier);
  }
}

}  // namespace outboxd::chaos
