// odd_rows: draws rows from the poison table for a run, and checks that each row ends as the table says.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "support/history.hpp"
#include "support/poison.hpp"

namespace outboxd::chaos {

/// One writer's share of the table, in a random order, repeatedly. A row with a fixed id is drawn only once.
class odd_deck {
 public:
  odd_deck(std::uint64_t seed, std::size_t part, std::size_t parts);
  const test::poison& draw();

 private:
  std::vector<const test::poison*> cards_;
  std::size_t next_ = 0;
};

/// The reason of a dead event.
struct reason {
  std::string error;
  std::string code;
};

/// Inserted as dead by its writer: no relay has given it up, so it has neither a reason nor a dead letter
/// message.
bool is_born_dead(const test::poison& what);

/// The broker closes a channel or a connection because of it, which also affects other events in flight.
bool closes_something(const test::poison& what);

/// Describes how a row's outcome differs from the table; nullopt if it matches. `outage`: at some time in
/// this run, even good events could not be routed to the queue.
std::optional<std::string> wrong_end(const test::poison& what, const test::committed_event& row,
                                     const reason& why, bool delivered, bool outage);

}  // namespace outboxd::chaos
