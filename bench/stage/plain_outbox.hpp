// plain_outbox: a typical hand-written outbox table on a stage, and the typical relays for it.
#pragma once

#include <string>
#include <vector>

#include "report/process_usage.hpp"
#include "stage/drain.hpp"
#include "stage/setup.hpp"
#include "stage/stage.hpp"
#include "support/process.hpp"

namespace outboxd::bench {

// Creates the table plain.event and its index; with a trigger that notifies each row's id.
void create_plain_outbox(stage& on, bool notifies = true);

// Selects the relay; the plain relay has a pool of five workers.
struct hand_written {
  std::string program = "plain_relay";
  std::vector<std::string> flags = {};
};

class plain_relay {
 public:
  plain_relay(const setup& on, const stage& where, const hand_written& which = {});

  process_usage usage() const { return usage_of(process_.pid()); }
  bool running() { return process_.running(); }
  std::string tail() { return process_.tail(); }

 private:
  test::process process_;
};

// Fills plain.event, and runs one relay until everything is published. Its commits are not counted.
drained plain_drain(const setup& on, stage& where, const filling& how, const hand_written& which = {});

}  // namespace outboxd::bench
