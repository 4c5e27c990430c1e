// order_book: orders that are open, so that any writer may take one of them a step further.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

namespace outboxd::shop {

/// All functions may be called from any thread. It holds the most recent orders only.
class order_book {
 public:
  void add(std::int64_t order);
  void remove(std::int64_t order);
  /// One of them, which stays in the book: two writers may meet on one order. `choice` is any number.
  std::optional<std::int64_t> pick(std::size_t choice) const;

 private:
  mutable std::mutex mutex_;
  std::vector<std::int64_t> orders_;
  std::size_t oldest_ = 0;  // where the next one goes once the book is full
};

}  // namespace outboxd::shop
