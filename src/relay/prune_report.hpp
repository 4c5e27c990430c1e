// prune_report: the callbacks with which the pruner reports its work to the relay.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "core/error.hpp"
#include "flow/retention/prune_pace.hpp"
#include "relay/retention.hpp"

namespace outboxd::relay {

// A run ends when nothing old is left, or after too many errors from PostgreSQL.
struct prune_run {
  prunable what = prunable::published;
  std::int64_t rows = 0;  // deleted rows, or dropped partitions
  std::chrono::milliseconds took{};
  std::int64_t kept = 0;   // old rows that others lock or reference
  std::string why_kept{};  // why the first of the kept rows is kept
  bool complete = false;
};

struct prune_report {
  std::function<void(prunable, std::int64_t rows)> deleted;  // rows deleted by one statement
  std::function<void(const prune_run&)> ended;
  std::function<void(prunable, const error&)> refused;  // called after repeated errors, once for each reason
  // Other sessions lock, or other rows reference, this many old rows; called once for each reason.
  std::function<void(prunable, std::int64_t rows, std::string_view why)> kept;
  // A partition was started, created, or left alone; `what` as in rotate_partition.
  std::function<void(std::string_view what, std::int64_t number)> rotated;
  std::function<flow::prune_pace::load()> load;
};

}  // namespace outboxd::relay
