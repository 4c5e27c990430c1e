// missed_rows: a slow walk over rows below the position, for pending rows that no read can find.
#pragma once

#include <cstdint>
#include <optional>

#include "flow/stream/position.hpp"
#include "flow/stream/store.hpp"

namespace outboxd::flow {

// Rows that were copied from another outbox with their xids, without the trigger, have a seq and a
// transaction that count as read. From time to time, 10,000 rows are checked, from the lowest seq up to the
// low watermark. Below that, all rows that were read as pending are settled, so none may be pending.
class missed_rows {
 public:
  // The lead has been taken. The walk continues where it was, because a lead may be too short for a whole
  // walk.
  void start() { met_.reset(); }

  // At each sweep: where to continue, if this sweep walks. `watermark`: all events up to here that were read
  // as pending are settled.
  std::optional<std::int64_t> next(std::int64_t watermark);

  // Returns the seq of a row that is pending, and was at the sweep before: read from there again.
  std::optional<std::int64_t> on_walked(const walk_answer& got, std::int64_t watermark);

 private:
  std::int64_t from_ = position::before_all;
  std::optional<std::int64_t>
      met_;  // pending; a row that was just committed is, too, but is read before the next sweep
  int sweeps_ = 0;
};

}  // namespace outboxd::flow
