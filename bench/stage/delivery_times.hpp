// delivery_times: how long events take from the sending of their COMMIT until a consumer has them.
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
  std::vector<double> ms;  // of each event that is measured, in the order of their numbers
  double missing = 0;      // part of them that had not come 10 s after the last; their ms are until then
};

// The INSERT of an event whose payload carries the number n, into SCHEMA.event.
std::string numbered_insert(const stage& where, const std::string& schema, std::int64_t n);

// A relay runs; the queue is emptied before. insert: the statement that writes the event with the number n.
delivery_times time_deliveries(const setup& on, stage& where, const pace& how,
                               const std::function<std::string(std::int64_t n)>& insert);

}  // namespace outboxd::bench
