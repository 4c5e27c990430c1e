// bare_reader: reads and marks like a stream, with the relay's own statements and without a broker.
#pragma once

#include <cstdint>
#include <string>

#include "flow/stream/position.hpp"
#include "stage/stage.hpp"

namespace outboxd::bench {

// Requires an outbox with one shard.
class bare_reader {
 public:
  // The initial position is before all events.
  explicit bare_reader(const stage& where, int batch = 1500);

  // Reads events and marks them as published, one statement after the other. Returns the number of events.
  std::int64_t read_and_mark();
  // The duration of a read in milliseconds; the position does not change.
  double read_milliseconds();
  // Moves the position so that the next read returns only rows that become visible from now on.
  void go_to_end();

 private:
  test::result_rows read();
  void mark(const test::result_rows& rows);

  test::database session_;
  int batch_;
  flow::position at_;
};

}  // namespace outboxd::bench
