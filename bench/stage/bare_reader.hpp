// bare_reader: reads and marks as a stream does, with the relay's own statements and no broker.
#pragma once

#include <cstdint>
#include <string>

#include "flow/stream/position.hpp"
#include "stage/stage.hpp"

namespace outboxd::bench {

// An outbox of one shard.
class bare_reader {
 public:
  // Begins before all events.
  explicit bare_reader(const stage& where, int batch = 1500);

  // Reads, and marks what it has read as published; one statement after the other. Returns how many events.
  std::int64_t read_and_mark();
  // Milliseconds of a read from where it is; it stays there.
  double read_milliseconds();
  // The next read finds what becomes visible from now on.
  void go_to_end();

 private:
  test::result_rows read();
  void mark(const test::result_rows& rows);

  test::database session_;
  int batch_;
  flow::position at_;
};

}  // namespace outboxd::bench
