// order_book: a small ring buffer of order numbers.
#include "shop/order_book.hpp"

#include <algorithm>

namespace outboxd::shop {
namespace {

constexpr std::size_t capacity = 200;

}  // namespace

void order_book::add(std::int64_t order) {
  const std::lock_guard lock{mutex_};
  if (orders_.size() < capacity) {
    orders_.push_back(order);
  } else {
    orders_[oldest_++ % capacity] = order;
  }
}

void order_book::remove(std::int64_t order) {
  const std::lock_guard lock{mutex_};
  const auto found = std::find(orders_.begin(), orders_.end(), order);
  if (found == orders_.end()) return;
  *found = orders_.back();
  orders_.pop_back();
}

std::optional<std::int64_t> order_book::pick(std::size_t choice) const {
  const std::lock_guard lock{mutex_};
  if (orders_.empty()) return std::nullopt;
  return orders_[choice % orders_.size()];
}

}  // namespace outboxd::shop
