// confirm_ledger: see confirm_ledger.hpp.
#include "amqp/confirm_ledger.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/text.hpp"

namespace outboxd::amqp {

confirm_ledger::confirm_ledger() : ring_(64) {}

void confirm_ledger::grow() {
  std::vector<entry> larger(ring_.size() * 2);
  for (auto tag = first_; tag != next_; ++tag) larger[tag & (larger.size() - 1)] = std::move(at(tag));
  ring_ = std::move(larger);
}

void confirm_ledger::set_oldest_aside() {
  aside_.emplace(first_, std::exchange(at(first_), {}));
  ++first_;
  pass_settled();
}

void confirm_ledger::pass_settled() {
  while (first_ != next_ && at(first_).settled) ++first_;
}

void confirm_ledger::sent(token id, std::string_view message_id) {
  if (span() == ring_.size() && ring_.size() < longest_ring) grow();
  if (span() == ring_.size()) set_oldest_aside();
  entry& e = at(next_++);
  e.id = id;
  e.settled = e.returned = false;
  e.message_id.assign(message_id);
  ++open_;
}

result<void> confirm_ledger::ack(std::uint64_t tag, bool multiple, std::vector<outcome>& out) {
  return confirm(tag, multiple, true, out);
}

result<void> confirm_ledger::nack(std::uint64_t tag, bool multiple, std::vector<outcome>& out) {
  return confirm(tag, multiple, false, out);
}

void confirm_ledger::settle(entry& e, bool ack, std::vector<outcome>& out) {
  if (e.settled) return;
  e.settled = true;
  --open_;
  const verdict what = e.returned ? verdict::returned : ack ? verdict::acked : verdict::nacked;
  out.push_back({e.id, what, e.returned ? std::move(e.reason) : std::string()});
}

result<void> confirm_ledger::confirm(std::uint64_t tag, bool multiple, bool ack, std::vector<outcome>& out) {
  const std::string_view name = ack ? "basic.ack" : "basic.nack";
  const bool all = tag == 0 && multiple;
  if (all) tag = next_ - 1;
  if (!all && (tag == 0 || tag >= next_))
    return transient(
        fmt::format("the broker sent {} for tag {} where the latest publish is {}", name, tag, next_ - 1));
  const bool was_aside = settle_aside(tag, multiple, ack, out);
  if (tag < first_ && (all || was_aside)) return {};
  if (tag < first_ || (!multiple && at(tag).settled))
    return transient(fmt::format("the broker sent {} for tag {}, which is already confirmed", name, tag));

  if (multiple)
    for (auto t = first_; t <= tag; ++t) settle(at(t), ack, out);
  else
    settle(at(tag), ack, out);
  pass_settled();
  return {};
}

// Returns true if such a tag was found.
bool confirm_ledger::settle_aside(std::uint64_t tag, bool multiple, bool ack, std::vector<outcome>& out) {
  const auto from = multiple ? aside_.begin() : aside_.lower_bound(tag);
  const auto to = aside_.upper_bound(tag);
  for (auto one = from; one != to; ++one) settle(one->second, ack, out);
  const bool any = from != to;
  aside_.erase(from, to);
  return any;
}

bool confirm_ledger::mark_returned(std::uint64_t from, std::uint64_t to, std::string_view message_id,
                                   std::string& reason) {
  for (auto tag = from; tag < to; ++tag) {
    entry& e = at(tag);
    if (e.settled || e.returned || e.message_id != message_id) continue;
    e.returned = true;
    e.reason = std::move(reason);
    return_from_ = tag + 1;
    return true;
  }
  return false;
}

result<void> confirm_ledger::returned(std::string_view message_id, std::string reason) {
  const auto from = std::max(first_, return_from_);
  if (mark_returned(from, next_, message_id, reason) || mark_returned(first_, from, message_id, reason))
    return {};
  const auto aside = std::ranges::find_if(
      aside_, [&](const auto& one) { return !one.second.returned && one.second.message_id == message_id; });
  if (aside != aside_.end()) {
    aside->second.returned = true;
    aside->second.reason = std::move(reason);
    return {};
  }
  return transient(fmt::format("the broker returned message \"{}\", which is not waiting for a confirm",
                               printable(message_id)));
}

std::vector<token> confirm_ledger::close() {
  std::vector<token> unknown;
  for (const auto& [tag, one] : aside_) unknown.push_back(one.id);
  aside_.clear();
  for (auto tag = first_; tag != next_; ++tag)
    if (!at(tag).settled) unknown.push_back(at(tag).id);
  first_ = next_;
  open_ = 0;
  return unknown;
}

}  // namespace outboxd::amqp
