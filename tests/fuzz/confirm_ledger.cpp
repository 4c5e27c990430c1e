// Fuzzes the confirm ledger with sequences of publishes, confirms and returns, against a plain model of what
// the protocol means: same outcomes in the same order, same refusals, same count of what is open.
#include "amqp/confirm_ledger.hpp"

#include <map>
#include <optional>
#include <string>

#include "input.hpp"

using namespace outboxd;
using fuzz::must;

namespace {

struct open_publish {
  token id;
  std::string message_id;
  std::optional<std::string> returned;
};

// Every open publish by its tag.
class model {
 public:
  void sent(token id, const std::string& message_id) { open_[next_++] = {id, message_id, {}}; }

  // Nothing: the broker may not say that.
  std::optional<std::vector<outcome>> confirm(std::uint64_t tag, bool multiple, bool ack) {
    if (tag == 0 && !multiple) return std::nullopt;
    if (tag >= next_) return std::nullopt;
    const auto oldest = open_.empty() ? next_ : open_.begin()->first;
    if (tag != 0 && (multiple ? tag < oldest : !open_.contains(tag))) return std::nullopt;
    std::vector<outcome> out;
    const auto last = tag == 0 ? next_ - 1 : tag;
    for (auto at = multiple ? open_.begin() : open_.find(tag); at != open_.end() && at->first <= last;) {
      const open_publish& one = at->second;
      const auto what = one.returned ? verdict::returned : ack ? verdict::acked : verdict::nacked;
      out.push_back({one.id, what, one.returned.value_or("")});
      at = open_.erase(at);
    }
    return out;
  }

  // Message ids of a session are all different here; the ledger need not say which of two equal ones it was.
  bool returned(const std::string& message_id, const std::string& reason) {
    for (auto& [tag, one] : open_) {
      if (one.message_id != message_id || one.returned) continue;
      one.returned = reason;
      return true;
    }
    return false;
  }

  std::size_t open() const { return open_.size(); }
  std::uint64_t latest() const { return next_ - 1; }
  std::vector<token> close() const {
    std::vector<token> all;
    for (const auto& [tag, one] : open_) all.push_back(one.id);
    return all;
  }

 private:
  std::map<std::uint64_t, open_publish> open_;
  std::uint64_t next_ = 1;
};

bool same(const std::vector<outcome>& a, const std::vector<outcome>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const outcome& x, const outcome& y) {
    return x.id == y.id && x.what == y.what && x.reason == y.reason;
  });
}

// Mostly near the tags that exist, sometimes anything.
std::uint64_t tag_of(fuzz::input& in, std::uint64_t latest) {
  const auto choice = in.byte();
  if (choice == 255) return in.number(8);
  if (choice >= 128) return latest + 2 - std::min<std::uint64_t>(latest + 2, choice - 128U);
  return choice;
}

void confirm(amqp::confirm_ledger& ledger, model& expected, fuzz::input& in, std::uint8_t kind) {
  const bool ack = (kind & 1U) != 0;
  const bool multiple = (kind & 2U) != 0;
  const auto tag = tag_of(in, expected.latest());
  std::vector<outcome> got;
  const auto ok = ack ? ledger.ack(tag, multiple, got) : ledger.nack(tag, multiple, got);
  const auto want = expected.confirm(tag, multiple, ack);
  must(ok.has_value() == want.has_value(), "a confirm is refused when the tag is not open, and only then");
  must(same(got, want.value_or(std::vector<outcome>())), "a confirm settles what it counts, in order");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::input in(data, size);
  amqp::confirm_ledger ledger;
  model expected;
  token next = 1000;
  while (!in.empty()) {
    const auto kind = in.byte();
    if (kind < 96) {
      for (int left = 1 + kind % 80; left > 0; --left, ++next) {
        const auto message_id = "m" + std::to_string(next);
        ledger.sent(next, message_id);
        expected.sent(next, message_id);
      }
    } else if (kind < 128) {
      const auto message_id = "m" + std::to_string(1000 + in.number(1 + kind % 2));
      const auto reason = "reason " + std::to_string(kind);
      must(ledger.returned(message_id, reason).has_value() == expected.returned(message_id, reason),
           "a return belongs to an open publish that was not returned yet");
    } else {
      confirm(ledger, expected, in, kind);
    }
    must(ledger.open() == expected.open(), "the ledger counts what is open");
    must(ledger.span() <= amqp::confirm_ledger::longest_ring, "the ring is bounded");
  }
  must(ledger.close() == expected.close(), "at the end every open publish is unknown, oldest first");
  must(ledger.open() == 0, "and none is left");
  return 0;
}
