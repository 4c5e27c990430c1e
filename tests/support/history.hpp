// history: everything that was delivered in a run, checked against everything that was committed.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "support/database.hpp"
#include "support/delivery.hpp"

namespace outboxd::test {

/// A row of outbox.event, as the transaction that inserted it left it.
struct committed_event {
  std::string id;
  std::int64_t seq = 0;
  std::string aggregate_type;
  std::string aggregate_id;
  std::string event_type;
  std::string status;
  std::string body;     // the payload's bytes
  std::string headers;  // the text of a JSON object
  cell exchange;
  cell routing_key;
  std::uint64_t created_at = 0;  // seconds since 1970-01-01 UTC; before that 0
  std::string occurred_at;       // created_at as ISO 8601 in UTC with microseconds; empty: its year has not
                                 // four digits, and no time is compared
  std::string failure;           // the code of the latest; empty: none
};

/// All rows, in `seq` order. Read it before rows are pruned.
std::vector<committed_event> committed_events(database& session, const std::string& schema = "outbox");

/// What a message must have where its row says nothing.
struct expectations {
  std::string exchange = "outbox";
  std::string content_type = "application/json";
  std::string unordered;  // the event type of those that come in no order: they were scheduled for later
  std::vector<std::pair<std::int64_t, std::int64_t>> unordered_seqs{};  // from, to: the sequence was set back
  // Ids of rows that somebody has changed since their commit. They come in no order. Their copies may differ,
  // and one of them is what the row says, unless that has another failure code: changed_after_send.
  std::unordered_set<std::string> changed{};
};

struct history_report {
  std::size_t committed = 0;
  std::size_t dead = 0;                // committed, parked, and therefore not lost
  std::size_t delivered = 0;           // different events
  std::size_t lost = 0;                // committed, not dead, never delivered
  std::size_t phantom = 0;             // delivered, never committed
  std::size_t duplicates = 0;          // copies beyond the first that the broker did not flag as redelivered
  std::size_t redelivered = 0;         // copies that the broker handed out again: no second publish
  std::size_t out_of_order = 0;        // first deliveries after a later event of their aggregate
  std::size_t mismatches = 0;          // events whose message, or one of its copies, is not what the row says
  std::vector<std::string> offenders;  // the first few of each, in words

  /// Nothing lost, phantom, out of order or different: what holds under any fault.
  bool sound() const { return lost + phantom + out_of_order + mismatches == 0; }
  /// And nothing twice: what holds without faults.
  bool exact() const { return sound() && duplicates == 0; }
  std::string words() const;
};

/// Deliveries in the order in which a single consumer received them. record() may be called from any thread.
class history {
 public:
  void record(delivery message);
  std::size_t deliveries() const;
  /// Different events so far.
  std::size_t events() const;
  bool delivered(const std::string& id) const;
  /// How often this event came.
  std::size_t times(const std::string& id) const;
  /// The events by their first delivery.
  std::vector<std::string> order() const;
  history_report check(const std::vector<committed_event>& committed,
                       const expectations& expected = {}) const;

 private:
  struct record_of_event {
    delivery first;
    std::size_t duplicates = 0;
    std::size_t redelivered = 0;
    std::vector<delivery> others{};  // copies that differ from the first
  };

  mutable std::mutex mutex_;
  std::vector<std::string> order_;  // ids by first delivery
  std::unordered_map<std::string, record_of_event> events_;
  std::size_t deliveries_ = 0;
};

}  // namespace outboxd::test
