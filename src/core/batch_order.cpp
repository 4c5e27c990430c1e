#include "core/batch_order.hpp"

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <functional>
#include <string_view>

namespace outboxd {
namespace {

struct aggregate {
  std::string_view type;
  std::string_view id;
  friend bool operator==(const aggregate&, const aggregate&) = default;
};

struct aggregate_hash {
  std::size_t operator()(const aggregate& of) const {
    const std::hash<std::string_view> hash;
    return hash(of.type) * 31 + hash(of.id);
  }
};

}  // namespace

batch_order::batch_order(std::span<const event> events, order_mode mode) : successor_(events.size(), none) {
  ready_.reserve(events.size());
  boost::unordered_flat_map<aggregate, std::size_t, aggregate_hash> last;
  if (mode == order_mode::strict) last.reserve(events.size());
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (mode == order_mode::strict) {
      const auto [at, first] = last.try_emplace({events[i].aggregate_type, events[i].aggregate_id}, i);
      if (!first) {
        successor_[at->second] = i;
        at->second = i;
        continue;
      }
    }
    ready_.push_back(i);
  }
  firsts_ = ready_.size();
}

std::optional<std::size_t> batch_order::front() const {
  if (sent_ == ready_.size()) return std::nullopt;
  return ready_[sent_];
}

void batch_order::pop() {
  ++sent_;
}

void batch_order::again(std::span<const std::size_t> indices) {
  sent_ -= indices.size();
  std::copy(indices.begin(), indices.end(), ready_.begin() + static_cast<std::ptrdiff_t>(sent_));
}

void batch_order::finish(std::size_t index) {
  if (successor_[index] != none) ready_.push_back(successor_[index]);
}

}  // namespace outboxd
