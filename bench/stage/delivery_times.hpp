// delivery_times: the time from sending an event's COMMIT until a consumer has received it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "stage/paced_writers.hpp"
#include "stage/setup.hpp"
#include "stage/stage.hpp"

namespace outboxd::bench {

struct delivery_times {
  std::vector<double> ms;  // for each measured event, in the order of their numbers
  double missing = 0;      // share of events missing 10 s after the last; their times end then
};

// The INSERT of an event whose payload carries the number n, into SCHEMA.event.
std::string numbered_insert(const stage& where, const std::string& schema, std::int64_t n);

// A relay must be running; the queue is emptied first. insert: the statement that writes event n.
delivery_times time_deliveries(const setup& on, stage& where, const pace& how,
                               const std::function<std::string(std::int64_t n)>& insert);

}  // namespace outboxd::bench
