// odd_rows: what a run draws from the table of poison, and whether each row has come to the end that the
// table says.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "support/history.hpp"
#include "support/poison.hpp"

namespace outboxd::chaos {

/// One writer's share of the table, in an order of its own, again and again. A row with an id of its own
/// comes once.
class odd_deck {
 public:
  odd_deck(std::uint64_t seed, std::size_t part, std::size_t parts);
  const test::poison& draw();

 private:
  std::vector<const test::poison*> cards_;
  std::size_t next_ = 0;
};

/// Of a dead event.
struct reason {
  std::string error;
  std::string code;
};

/// Born dead, by whoever wrote it: nobody has given it up, so it has neither a reason nor a letter.
bool is_born_dead(const test::poison& what);

/// The broker closes a channel or a connection over it, and takes others in flight with it.
bool closes_something(const test::poison& what);

/// In words what is wrong with how a row has ended; nothing, if it is as the table says. `outage`: for a
/// while in this run good events, too, had no way to the queue.
std::optional<std::string> wrong_end(const test::poison& what, const test::committed_event& row,
                                     const reason& why, bool delivered, bool outage);

}  // namespace outboxd::chaos
