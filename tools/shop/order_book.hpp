// order_book: the open orders, from which any writer can pick one for its next step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

namespace outboxd::shop {

/// Thread-safe. Keeps only the most recent orders.
class order_book {
 public:
  void add(std::int64_t order);
  void remove(std::int64_t order);
  /// Returns an order, which stays in the book, so two writers may pick the same order. `choice` is any
  /// number.
  std::optional<std::int64_t> pick(std::size_t choice) const;

 private:
  mutable std::mutex mutex_;
  std::vector<std::int64_t> orders_;
  std::size_t oldest_ = 0;  // the entry to replace next once the book is full
};

}  // namespace outboxd::shop
