// tally: records commits and deliveries.
#include "shop/tally.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace outboxd::shop {
namespace {

/// Nearest rank: the smallest value that at least `share` of all values do not exceed.
milliseconds percentile(std::vector<milliseconds>& values, double share) {
  const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(values.size())));
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(rank) - 1;
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

}  // namespace

void tally::committed(const std::string& id, steady_clock::time_point sent) {
  const std::lock_guard lock{mutex_};
  auto& entry = events_[id];
  entry.sent = sent;
  ++counts_.committed;
  ++(entry.received ? --counts_.phantom, counts_.delivered : counts_.missing);
  last_commit_ = std::max(last_commit_.value_or(sent), steady_clock::now());
  settle(entry);
}

void tally::rolled_back() {
  const std::lock_guard lock{mutex_};
  ++counts_.rolled_back;
}

void tally::delivered(const std::string& id, const std::string& aggregate, std::int64_t seq, bool redelivered,
                      steady_clock::time_point received) {
  const std::lock_guard lock{mutex_};
  auto& entry = events_[id];
  if (entry.received) {
    ++(redelivered ? counts_.redelivered : counts_.duplicates);
    return;
  }
  entry.received = received;
  ++(entry.sent ? --counts_.missing, counts_.delivered : counts_.phantom);
  const auto [latest, first] = latest_seq_.try_emplace(aggregate, seq);
  if (!first && seq <= latest->second) ++counts_.out_of_order;
  latest->second = std::max(latest->second, seq);
  settle(entry);
}

void tally::settle(const event& which) {
  if (which.sent && which.received) latencies_.emplace_back(*which.received - *which.sent);
  if (counts_.missing == 0) changed_.notify_all();
}

void tally::fail(std::string sentence) {
  const std::lock_guard lock{mutex_};
  if (!failure_) failure_ = std::move(sentence);
  changed_.notify_all();
}

void tally::expect_writers(unsigned count) {
  const std::lock_guard lock{mutex_};
  writers_ += count;
}

void tally::writer_finished() {
  const std::lock_guard lock{mutex_};
  --writers_;
  changed_.notify_all();
}

bool tally::wait_complete(steady_clock::time_point until) {
  std::unique_lock lock{mutex_};
  return changed_.wait_until(lock, until,
                             [this] { return failure_ || (writers_ == 0 && counts_.missing == 0); });
}

bool tally::writing() const {
  const std::lock_guard lock{mutex_};
  return writers_ > 0;
}

std::optional<std::string> tally::failure() const {
  const std::lock_guard lock{mutex_};
  return failure_;
}

std::optional<steady_clock::time_point> tally::last_commit() const {
  const std::lock_guard lock{mutex_};
  return last_commit_;
}

counts tally::count() const {
  std::unique_lock lock{mutex_};
  auto result = counts_;
  auto values = latencies_;
  lock.unlock();
  if (!values.empty()) {
    result.latency = {percentile(values, 0.50), percentile(values, 0.95), percentile(values, 0.99),
                      *std::max_element(values.begin(), values.end())};
  }
  return result;
}

std::vector<std::string> tally::with(bool sent, bool received, std::size_t limit) const {
  const std::lock_guard lock{mutex_};
  std::vector<std::string> ids;
  for (const auto& [id, entry] : events_) {
    if (ids.size() == limit) break;
    if (entry.sent.has_value() == sent && entry.received.has_value() == received) ids.push_back(id);
  }
  return ids;
}

std::vector<std::string> tally::missing(std::size_t limit) const {
  return with(true, false, limit);
}
std::vector<std::string> tally::phantoms(std::size_t limit) const {
  return with(false, true, limit);
}

void tally::forget_latencies() {
  const std::lock_guard lock{mutex_};
  latencies_.clear();
}

}  // namespace outboxd::shop
