// confirm_ledger: tracks the published messages that the broker has not confirmed, and interprets its
// answers.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/confirm.hpp"
#include "core/error.hpp"

namespace outboxd::amqp {

using outboxd::outcome;
using outboxd::token;
using outboxd::verdict;

// Delivery tags number the messages of a channel since confirm.select, starting with 1
// (https://www.rabbitmq.com/docs/confirms). A ring holds the window from the oldest open tag to the latest
// one, so each step takes constant time; it reuses its strings, so nothing is allocated once the window has
// reached its size. The size is limited: a tag that is still open when the ring is full is moved aside, so
// that a message which is never confirmed does not stop publishing.
class confirm_ledger {
 public:
  confirm_ledger();

  // Call this once for each published message, in sending order.
  void sent(token id, std::string_view message_id);

  // Processes a basic.ack or basic.nack: appends the outcomes, in sending order. `multiple` settles all open
  // tags up to this one; tag 0 settles all open tags. A tag that was never used, or is already settled, is a
  // protocol error (transient): the counts of both sides differ, so the channel is not usable.
  result<void> ack(std::uint64_t tag, bool multiple, std::vector<outcome>& out);
  result<void> nack(std::uint64_t tag, bool multiple, std::vector<outcome>& out);

  // Processes a basic.return. It has no tag, precedes the ack of its message, and settles nothing by itself.
  result<void> returned(std::string_view message_id, std::string reason);

  std::size_t open() const { return open_; }
  // The number of tags in the ring, including settled ones between open ones, and its limit.
  std::size_t span() const { return static_cast<std::size_t>(next_ - first_); }
  static constexpr std::size_t longest_ring = 8'192;

  // The channel is gone, so the outcome of all open messages is unknown. Returns their tokens, oldest first.
  std::vector<token> close();

 private:
  struct entry {
    token id = 0;
    bool settled = false;
    bool returned = false;
    std::string message_id;
    std::string reason;
  };

  entry& at(std::uint64_t tag) { return ring_[tag & (ring_.size() - 1)]; }
  result<void> confirm(std::uint64_t tag, bool multiple, bool ack, std::vector<outcome>& out);
  void settle(entry& e, bool ack, std::vector<outcome>& out);
  bool settle_aside(std::uint64_t tag, bool multiple, bool ack, std::vector<outcome>& out);
  bool mark_returned(std::uint64_t from, std::uint64_t to, std::string_view message_id, std::string& reason);
  void grow();
  void set_oldest_aside();
  void pass_settled();

  std::vector<entry> ring_;               // its size is a power of two
  std::map<std::uint64_t, entry> aside_;  // open tags that were moved aside, all lower than first_
  std::uint64_t first_ = 1;               // the oldest open tag in the ring, or next_ if none is open
  std::uint64_t next_ = 1;                // the tag of the next message
  std::uint64_t return_from_ = 1;         // returns arrive in sending order: where to search first
  std::size_t open_ = 0;
};

}  // namespace outboxd::amqp
