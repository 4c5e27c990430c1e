// missed_rows: slowly walks over rows below the position, to find pending rows that no read can find.
#pragma once

#include <cstdint>
#include <optional>

#include "flow/stream/position.hpp"
#include "flow/stream/store.hpp"

namespace outboxd::flow {

// Rows that were copied from another outbox with their transaction IDs, without the trigger, have a seq and a
// transaction that count as read already. From time to time, 10,000 rows are checked, starting with the
// lowest seq and ending at the low watermark. Below the watermark, all rows that were read as pending are
// settled, so no pending row should be there.
class missed_rows {
 public:
  // The lead was acquired. The walk continues where it was, because a lead may be too short for a whole walk.
  void start() { met_.reset(); }

  // Called at each sweep; returns the seq to continue after, if this sweep walks. `watermark`: all events up
  // to here that were read as pending are settled.
  std::optional<std::int64_t> next(std::int64_t watermark);

  // Returns the seq of a row that is pending and was pending at the sweep before: everything from there on
  // must be read again.
  std::optional<std::int64_t> on_walked(const walk_answer& got, std::int64_t watermark);

 private:
  std::int64_t from_ = position::before_all;
  std::optional<std::int64_t>
      met_;  // a pending row; a read finds it before the next sweep if it was only just committed
  int sweeps_ = 0;
};

}  // namespace outboxd::flow
