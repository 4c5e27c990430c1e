// stage: a database with an outbox, and an exchange with a queue, of one measurement alone; all gone with it.
#pragma once

#include <cstdint>
#include <string>

#include "stage/setup.hpp"
#include "support/broker.hpp"
#include "support/database.hpp"

namespace outboxd::bench {

// Events to be drained.
struct filling {
  std::int64_t events = 100'000;
  std::int64_t aggregates = 20'000;
  std::int64_t size = 200;  // bytes of the text in the payload

  // Of the message: {"a": 12345, "n": 123456, "text": "…"}
  std::int64_t body_bytes() const { return size + 37; }
};

class stage {
 public:
  // autovacuum: on the outbox. Off where a part vacuums by hand, so that no round meets it by chance.
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

  // Messages in the queue. A quorum queue may count a moment late.
  std::int64_t messages();
  void purge();

  // Inserts pending events, and leaves the table vacuumed and analysed and the servers at rest, so that every
  // round begins alike. Returns the last seq before them.
  std::int64_t fill(const filling& how);
  // Inserts without that: INSERT … SELECT in one transaction.
  void insert(test::database& session, const filling& how);
  // Inserts events like those that are published already; the queue has none of them.
  void add_published(const filling& like, std::int64_t count);
  // A checkpoint, and an empty log of the broker: so that neither comes in the middle of a round.
  void come_to_rest(test::database& session) const;
  // Removes the finished events after this seq, and empties the queue.
  void clear(std::int64_t after);

 private:
  const setup& on_;
  std::string name_;
  test::fresh_database database_;
  test::broker broker_;
};

}  // namespace outboxd::bench
