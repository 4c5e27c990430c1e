// missed_rows: a slow walk over what the position has passed, for pending rows that no read can find.
#pragma once

#include <cstdint>
#include <optional>

#include "flow/stream/position.hpp"
#include "flow/stream/store.hpp"

namespace outboxd::flow {

// Rows that came in behind the relay's back (copied from another outbox with their xids, without the trigger)
// have a seq and a transaction that the position takes for read. Now and then 10,000 rows are looked at, from
// the lowest seq up to the low watermark: below that nothing that was read as pending is under way, so that
// nothing may be pending.
class missed_rows {
 public:
  // The lead has been taken. The walk goes on where it was: a lead may never last for a whole one.
  void start() { met_.reset(); }

  // At each sweep: where to walk on from, if this one walks. `watermark`: all that was read up to here
  // as pending is settled.
  std::optional<std::int64_t> next(std::int64_t watermark);

  // Returns the seq of a row that is pending, and was at the sweep before: read from there again.
  std::optional<std::int64_t> on_walked(const walk_answer& got, std::int64_t watermark);

 private:
  std::int64_t from_ = position::before_all;
  std::optional<std::int64_t>
      met_;  // pending; what has just been committed is, too, and is read before the next sweep
  int sweeps_ = 0;
};

}  // namespace outboxd::flow
