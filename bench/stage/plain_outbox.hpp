// plain_outbox: the outbox table that everybody writes, on a stage, and the plain relay on it.
#pragma once

#include <cstdint>

#include "stage/setup.hpp"
#include "stage/stage.hpp"
#include "support/process.hpp"

namespace outboxd::bench {

// Creates the table plain.event, its index and its trigger, which notifies each row's id.
void create_plain_outbox(stage& on);

// One plain relay, with a pool of five.
class plain_relay {
 public:
  plain_relay(const setup& on, const stage& where);

  bool running() { return process_.running(); }
  std::string tail() { return process_.tail(); }

 private:
  test::process process_;
};

// Fills plain.event, lets a plain relay publish everything, and returns its events per second.
double plain_drain(const setup& on, stage& where, const filling& how);

}  // namespace outboxd::bench
