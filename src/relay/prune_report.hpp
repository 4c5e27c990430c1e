// prune_report: what the pruner tells the relay of its work.
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

// A run ends when nothing old is left, or when PostgreSQL has refused too often.
struct prune_run {
  prunable what = prunable::published;
  std::int64_t rows = 0;  // deleted; or partitions dropped
  std::chrono::milliseconds took{};
  std::int64_t kept = 0;   // old rows that others lock or refer to
  std::string why_kept{};  // the first of them
  bool complete = false;
};

struct prune_report {
  std::function<void(prunable, std::int64_t rows)> deleted;  // by one statement
  std::function<void(const prune_run&)> ended;
  std::function<void(prunable, const error&)> refused;  // repeatedly; once for each reason
  // Others lock or refer to this many old rows; once for each reason.
  std::function<void(prunable, std::int64_t rows, std::string_view why)> kept;
  // A partition has begun, was made, or is left alone: `what` as in rotate_partition.
  std::function<void(std::string_view what, std::int64_t number)> rotated;
  std::function<flow::prune_pace::load()> load;
};

}  // namespace outboxd::relay
