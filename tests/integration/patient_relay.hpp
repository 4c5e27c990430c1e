// patient_relay: a relay that waits for the confirms of a queue that hangs, however slow a test is meanwhile.
#pragma once

#include <utility>

#include "asked_relay.hpp"
#include "support/consumer.hpp"

namespace outboxd::test {

/// Has one connection, on which something was confirmed before: one that never saw a confirm is given up
/// within seconds. No trace is left of that event.
class patient_relay : public asked_relay {
 public:
  explicit patient_relay(const stage& on, arguments flags = {}) : asked_relay{on, patient(std::move(flags))} {
    on.add_events(1);
    on.await_drained();
    on.connect().exec("DELETE FROM outbox.event");
    consumer{on.queue()}.take(1);
  }

 private:
  static arguments patient(arguments flags) {
    flags.insert(flags.end(), {"--amqp-confirm-timeout", "1h", "--relay-lanes", "1"});
    return flags;
  }
};

}  // namespace outboxd::test
