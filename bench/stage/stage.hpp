// stage: a database with an outbox, and an exchange with a queue, for a single measurement; the destructor
// removes them.
#pragma once

#include <cstdint>
#include <string>

#include "stage/setup.hpp"
#include "support/broker.hpp"
#include "support/database.hpp"

namespace outboxd::bench {

// The events to drain.
struct filling {
  std::int64_t events = 100'000;
  std::int64_t aggregates = 20'000;
  std::int64_t size = 200;  // bytes of the text in the payload
  std::int64_t sampled_every =
      0;  // each event has a traceparent, of which one in so many is sampled; 0: none

  // The message: {"a": 12345, "n": 123456, "text": "…"}
  std::int64_t body_bytes() const { return size + 37; }
};

class stage {
 public:
  // autovacuum: for the outbox. Off for parts that run VACUUM themselves, so that autovacuum does not disturb
  // a round.
  explicit stage(const setup& on, test::queue_type type = test::queue_type::quorum, bool autovacuum = false,
                 int shards = 1);
  ~stage();
  stage(const stage&) = delete;
  stage& operator=(const stage&) = delete;

  const std::string& url() const { return database_.url(); }
  test::database connect() const { return database_.connect(); }
  const std::string& exchange() const { return name_; }
  const std::string& queue() const { return name_; }
  // Routes to the queue.
  const std::string& event_type() const { return name_; }

  // The number of messages in the queue. For a quorum queue, the number may lag slightly.
  std::int64_t messages();
  void purge();

  // Inserts pending events, vacuums and analyzes the table, and waits until the servers are idle, so that
  // every round starts in the same state. Returns the last seq before the events.
  std::int64_t fill(const filling& how);
  // Only inserts, with INSERT … SELECT in one transaction.
  void insert(test::database& session, const filling& how);
  // Inserts events as if they had been published; the queue does not contain them.
  void add_published(const filling& like, std::int64_t count);
  // Runs a checkpoint and empties the broker's log, so that neither happens during a round.
  void come_to_rest(test::database& session) const;
  // Deletes the finished events after this seq, and empties the queue.
  void clear(std::int64_t after);

 private:
  const setup& on_;
  std::string name_;
  test::fresh_database database_;
  test::broker broker_;
};

}  // namespace outboxd::bench
