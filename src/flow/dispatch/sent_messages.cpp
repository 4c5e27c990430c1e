#include "flow/dispatch/sent_messages.hpp"

#include <algorithm>

namespace outboxd::flow {

std::optional<sent_messages::sent> sent_messages::close(token name, clock::time_point now) {
  if (name < first_ || name >= next()) return std::nullopt;
  sent& one = all_[static_cast<std::size_t>(name - first_)];
  if (!one.open) return std::nullopt;
  one.open = false;
  on_closed(one);
  // Visits each message once: messages before overtaken_to_ are already marked as overtaken.
  for (token each = std::max(overtaken_to_, first_); each < name; ++each)
    all_[static_cast<std::size_t>(each - first_)].overtaken = now;
  overtaken_to_ = std::max(overtaken_to_, name);
  return one;
}

void sent_messages::drop_closed() {
  while (!all_.empty() && !all_.front().open) pop_oldest();
}

sent_messages::sent sent_messages::pop_oldest() {
  const sent out = all_.front();
  all_.pop_front();
  ++first_;
  if (out.open) on_closed(out);
  return out;
}

std::deque<sent_messages::sent> sent_messages::take_all() {
  first_ += all_.size();
  open_ = returning_ = 0;
  return std::exchange(all_, {});
}

void sent_messages::forget(const lane_client& whose) {
  for (sent& one : all_)
    if (one.what.whose == &whose) one.what.whose = nullptr;
}

void sent_messages::postpone(clock::time_point now) {
  for (sent& one : all_) {
    one.at = now;
    if (one.overtaken) one.overtaken = now;
  }
}

}  // namespace outboxd::flow
