// confirm_ledger: which publishes the broker still owes an answer, and what each answer means.
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

// Delivery tags count the publishes of a channel since confirm.select, from 1
// (https://www.rabbitmq.com/docs/confirms). A ring holds the window from the oldest open tag to the latest,
// so that every step takes constant time, and reuses its strings: no allocation once the window has reached
// its size. The size is bounded: a tag that is still open after a whole round of the ring is set aside, so
// that a message that is never confirmed does not stop publishing.
class confirm_ledger {
 public:
  confirm_ledger();

  // Call once per publish, in the order of the wire.
  void sent(token id, std::string_view message_id);

  // A basic.ack or basic.nack: appends the outcomes, in the order of the publishes. `multiple` settles
  // everything up to the tag, tag 0 everything open. A tag that was never used or is already settled is a
  // protocol error (transient): the counts differ, so nothing on this channel can be trusted.
  result<void> ack(std::uint64_t tag, bool multiple, std::vector<outcome>& out);
  result<void> nack(std::uint64_t tag, bool multiple, std::vector<outcome>& out);

  // A basic.return. It carries no tag and comes before the ack of its message; it settles nothing by itself.
  result<void> returned(std::string_view message_id, std::string reason);

  std::size_t open() const { return open_; }
  // The number of tags in the ring, including settled ones between open ones; and its limit.
  std::size_t span() const { return static_cast<std::size_t>(next_ - first_); }
  static constexpr std::size_t longest_ring = 8'192;

  // The channel is gone: the fate of everything open is unknown. Hands the tokens back, oldest first.
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
  std::map<std::uint64_t, entry> aside_;  // open ones, by tag, all before first_
  std::uint64_t first_ = 1;               // the oldest open tag of the ring, or next_ when none is open
  std::uint64_t next_ = 1;                // the tag of the next publish
  std::uint64_t return_from_ = 1;         // returns come in the order of the publishes: look from here first
  std::size_t open_ = 0;
};

}  // namespace outboxd::amqp
