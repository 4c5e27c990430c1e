// batch_order: which event of a batch may be sent next, so that no event overtakes an earlier one of its
// aggregate.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "core/event.hpp"

namespace outboxd {

enum class order_mode {
  strict,     // at most one unconfirmed event of an aggregate; the rest is pipelined
  pipelined,  // all at once: a successor may overtake an event that the broker refuses
};

class batch_order {
 public:
  batch_order() = default;
  batch_order(std::span<const event> events, order_mode mode);

  // Index of the event to send next: the first of each aggregate in seq order, then successors in the order in
  // which finish() frees them. None until one is freed.
  std::optional<std::size_t> front() const;

  // Has every aggregate had its turn? What is left waits for confirms of its own aggregate.
  bool only_successors_left() const { return sent_ >= firsts_; }

  // The front was sent, or refused before it was sent.
  void pop();

  // These were sent and have to be sent again, in this order, before anything else. At most as many as were popped.
  void again(std::span<const std::size_t> indices);

  // The event at this index is published or dead: its successor may be sent.
  // Not calling it holds the successors back for the rest of the batch.
  void finish(std::size_t index);

 private:
  static constexpr std::size_t none = static_cast<std::size_t>(-1);

  std::vector<std::size_t> successor_;  // by index: the next event of the same aggregate
  std::vector<std::size_t> ready_;      // in the order of sending
  std::size_t firsts_ = 0;              // how many of ready_ waited for nobody
  std::size_t sent_ = 0;                // how many of ready_ are gone
};

}  // namespace outboxd
