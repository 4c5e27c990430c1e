// flow_rules: what a lane may never do, checked at every call that it makes.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "relay/lane.hpp"

namespace outboxd::test {

using relay::clock;

class flow_rules {
 public:
  explicit flow_rules(relay::lane_settings settings) : settings_(std::move(settings)) {}

  // What happens to the lane; to be told before the lane hears of it.
  void on_outbox(bool up);
  void on_claimed(const batch& claimed, clock::time_point now);
  void on_released() {
    asked_ = asked::nothing;
    committed_ = std::exchange(marked_, 0);
  }
  void on_broker(bool up);
  void on_blocked(bool blocked) { blocked_ = blocked; }
  void on_outcome(const outcome& one);
  void on_channel_closed(const std::vector<token>& unknown);
  void on_stop() { stopped_ = true; }

  // What the lane does.
  void claim();
  struct reasons {
    bool looks_come = false;
    bool rung = false;  // since the claim
  };
  void settle(const relay::settlement& what, relay::then next, const reasons& to_look);
  void publish(token name, const message& what, clock::time_point now);
  void publish_letter(token name, const message& what);
  void unencodable(const message& what);
  void drop() { broker_up_ = false; }

  // What the lane tells its host, before it acts.
  void told_claim() { told_claim_ = true; }
  void told_published(std::size_t events) {
    require(events > 0 && events == std::exchange(committed_, 0), "published is what a commit has marked");
  }
  void told_set_back() { ++told_set_back_; }

  bool ready() const { return outbox_up_ && broker_up_ && !blocked_ && !stopped_; }
  bool claim_is_open() const { return open_; }
  bool claim_is_asked() const { return asked_ == asked::claim; }
  bool release_is_asked() const { return asked_ == asked::release; }
  int claims() const { return claims_; }
  const std::vector<std::string>& broken() const { return broken_; }
  void require(bool holds, const std::string& rule) {
    if (!holds) broken_.push_back(rule);
  }

 private:
  enum class asked { nothing, claim, release };
  enum class fate { unsent, unconfirmed, suspect, acked, nacked, returned, refused, unencodable };
  struct sent {
    int claim;
    std::size_t index;
  };

  std::optional<std::size_t> find(std::int64_t seq) const;
  std::optional<std::size_t> find(const event_id& id) const;
  // Published, or dead.
  bool is_finished(std::size_t index) const {
    const fate one = fates_[index];
    return one == fate::acked || one == fate::unencodable ||
           ((one == fate::returned || one == fate::refused) &&
            batch_.events[index].attempts + 1 >= settings_.delivery.retry.max_attempts());
  }
  void check_order(std::size_t index);
  void check_alone(std::size_t index);
  void check_set_back(const relay::setback& one);

  relay::lane_settings settings_;
  bool outbox_up_ = false;
  bool broker_up_ = false;
  bool blocked_ = false;
  bool stopped_ = false;
  asked asked_ = asked::nothing;
  bool open_ = false;  // a claim with events is held
  int claims_ = 0;
  batch batch_;
  std::vector<fate> fates_;  // by index in the batch
  std::set<std::size_t> suspected_;
  clock::time_point claimed_at_;
  std::map<token, sent> sent_;
  std::set<token> names_;
  bool told_claim_ = false;
  std::size_t marked_ = 0;         // by the settle that is under way
  std::size_t committed_ = 0;      // and the host has not heard of them yet
  std::size_t told_set_back_ = 0;  // of this claim
  std::vector<std::string> broken_;
};

inline void flow_rules::on_outbox(bool up) {
  outbox_up_ = up;
  if (up) return;
  asked_ = asked::nothing;
  open_ = false;
  marked_ = committed_ = 0;
}

inline void flow_rules::on_claimed(const batch& claimed, clock::time_point now) {
  asked_ = asked::nothing;
  ++claims_;
  open_ = !claimed.events.empty();
  batch_ = claimed;
  fates_.assign(claimed.events.size(), fate::unsent);
  suspected_.clear();
  claimed_at_ = now;
  told_set_back_ = 0;
  committed_ = std::exchange(marked_, 0);
}

inline void flow_rules::on_broker(bool up) {
  broker_up_ = up;
  blocked_ = false;
  sent_.clear();
}

inline void flow_rules::on_outcome(const outcome& one) {
  const auto at = sent_.find(one.id);
  if (at == sent_.end()) return;
  const bool ours = open_ && at->second.claim == claims_;
  if (ours)
    fates_[at->second.index] = one.what == verdict::acked    ? fate::acked
                               : one.what == verdict::nacked ? fate::nacked
                                                             : fate::returned;
  sent_.erase(at);
}

inline void flow_rules::on_channel_closed(const std::vector<token>& unknown) {
  for (const token name : unknown) {
    names_.erase(name);  // no word on it can come any more
    const auto at = sent_.find(name);
    if (at == sent_.end()) continue;
    if (open_ && at->second.claim == claims_)
      fates_[at->second.index] = unknown.size() == 1 ? fate::refused : fate::suspect;
    sent_.erase(at);
  }
}

inline void flow_rules::claim() {
  require(asked_ == asked::nothing, "no call to the outbox while another is unanswered");
  require(committed_ == 0, "the host hears of every event that was marked");
  require(!open_, "a claim is settled before the next");
  require(ready(), "no claim unless both servers are there and nobody said stop");
  require(std::exchange(told_claim_, false), "the host hears of every claim before it is sent");
  asked_ = asked::claim;
}

inline std::optional<std::size_t> flow_rules::find(std::int64_t seq) const {
  for (std::size_t i = 0; i < batch_.events.size(); ++i)
    if (batch_.events[i].seq == seq) return i;
  return std::nullopt;
}

inline std::optional<std::size_t> flow_rules::find(const event_id& id) const {
  for (std::size_t i = 0; i < batch_.events.size(); ++i)
    if (batch_.events[i].id == id) return i;
  return std::nullopt;
}

inline void flow_rules::check_order(std::size_t index) {
  for (std::size_t i = 0; i < index; ++i) {
    if (batch_.events[i].aggregate_id != batch_.events[index].aggregate_id) continue;
    const bool finished = is_finished(i);
    if (settings_.delivery.order == order_mode::strict)
      require(finished, "strict: an event is sent only when those before it are finished");
    else
      require(fates_[i] != fate::unsent, "pipelined: an event is sent after those before it");
  }
}

inline void flow_rules::check_alone(std::size_t index) {
  bool others = false;
  bool other_suspected = false;
  for (std::size_t i = 0; i < fates_.size(); ++i) {
    if (fates_[i] != fate::unconfirmed) continue;
    others = true;
    other_suspected = other_suspected || suspected_.contains(i);
  }
  const bool suspected = fates_[index] == fate::suspect || batch_.events[index].attempts > 0;
  if (suspected) suspected_.insert(index);
  require(!others || (!suspected && !other_suspected), "an event under suspicion travels alone");
}

inline void flow_rules::publish(token name, const message& what, clock::time_point now) {
  require(names_.insert(name).second, "every publish has a name of its own");
  require(broker_up_ && !blocked_, "nothing is sent to a broker that is away or blocked");
  require(!stopped_, "nothing is sent after a stop");
  require(open_ && asked_ == asked::nothing, "nothing is sent without a claim");
  require(now < claimed_at_ + settings_.claim_timeout / 2, "nothing is sent on an old claim");
  const auto index = find(what.seq);
  if (!index || !open_) return require(false, "only claimed events are sent");
  require(fates_[*index] == fate::unsent || fates_[*index] == fate::suspect,
          "an event is sent once per claim");
  check_alone(*index);
  require(!batch_.events[*index].behind, "an event behind a waiting one is not sent");
  check_order(*index);
  fates_[*index] = fate::unconfirmed;
  sent_[name] = {claims_, *index};
}

inline void flow_rules::publish_letter(token name, const message& what) {
  require(names_.insert(name).second, "every publish has a name of its own");
  require(broker_up_ && !blocked_ && !stopped_ && open_, "a dead letter is sent while its event is claimed");
  const auto index = find(what.seq);
  require(index && (is_finished(*index) && fates_[*index] != fate::acked),
          "a dead letter is of a dead event");
  require(std::none_of(fates_.begin(), fates_.end(), [](fate one) { return one == fate::unconfirmed; }),
          "a dead letter travels alone");
}

inline void flow_rules::unencodable(const message& what) {
  const auto index = find(what.seq);
  if (!index) return require(false, "only claimed events are encoded");
  check_order(*index);
  fates_[*index] = fate::unencodable;
}

inline void flow_rules::check_set_back(const relay::setback& one) {
  using kind = relay::setback::kind;
  const auto index = find(one.id);
  if (!index) return require(false, "only claimed events are set back");
  switch (fates_[*index]) {
    case fate::unsent:
      return require(one.what == kind::behind && one.behind && one.behind == batch_.events[*index].behind,
                     "an event that was not sent is set back only behind the one it was claimed behind");
    case fate::nacked:
      return require(
          one.what == kind::backing_off && !one.counts_attempt && one.counts_nack && one.delay.count() > 0,
          "a nack costs no attempt");
    case fate::returned:
    case fate::refused: {
      const bool last = batch_.events[*index].attempts + 1 >= settings_.delivery.retry.max_attempts();
      require(one.what == (last ? kind::dead : kind::backing_off),
              "a refused event is dead at the cap, and not before");
      return require(one.counts_attempt && !one.counts_nack && !one.reason.empty(),
                     "a refusal costs an attempt");
    }
    case fate::unencodable:
      return require(one.what == kind::dead && one.counts_attempt && !one.reason.empty(),
                     "what cannot be encoded is dead, with its reason");
    case fate::unconfirmed:
    case fate::suspect:
    case fate::acked:
      return require(false, "only refused events are set back");
  }
}

inline void flow_rules::settle(const relay::settlement& what, relay::then next, const reasons& to_look) {
  require(asked_ == asked::nothing, "no call to the outbox while another is unanswered");
  require(outbox_up_ && open_, "only an open claim is settled");
  const bool given_back = what.published.size() + what.set_back.size() < batch_.events.size();
  const bool plenty = batch_.full || batch_.events.size() >= settings_.batch || given_back;
  const bool something = plenty || !batch_.complete || to_look.rung || !what.released.empty();
  require((next == relay::then::claim) == (ready() && something && (plenty || !to_look.looks_come)),
          "a settlement claims again if, and only if, all is well, there may be something, and the next look "
          "is not enough");
  asked_ = next == relay::then::claim ? asked::claim : asked::release;
  if (next == relay::then::claim)
    require(std::exchange(told_claim_, false), "the host hears of every claim before it is sent");
  require(committed_ == 0, "the host hears of every event that was marked");
  require(told_set_back_ == what.set_back.size(), "the host hears of every event that was set back");
  marked_ = what.published.size();
  if (!std::exchange(open_, false)) return;

  std::set<std::int64_t> finished;
  std::size_t refused = 0;
  std::size_t acked = 0;
  for (std::size_t i = 0; i < fates_.size(); ++i) {
    acked += fates_[i] == fate::acked ? 1U : 0U;
    refused += fates_[i] == fate::nacked || fates_[i] == fate::returned || fates_[i] == fate::refused ||
               fates_[i] == fate::unencodable;
    if (is_finished(i)) finished.insert(batch_.events[i].seq);
  }
  std::set<event_id> named;
  for (const event_id& id : what.published) {
    const auto index = find(id);
    require(index && fates_[*index] == fate::acked, "published means acknowledged, for this very publish");
    named.insert(id);
  }
  std::size_t behind = 0;
  for (const relay::setback& one : what.set_back) {
    check_set_back(one);
    behind += one.what == relay::setback::kind::behind ? 1U : 0U;
    named.insert(one.id);
  }
  require(named.size() == what.published.size() + what.set_back.size(), "an event is settled once");
  require(what.published.size() == acked, "every acknowledged event is marked");
  if (settings_.delivery.dead_letter_exchange.empty())
    require(what.set_back.size() == refused + behind, "every refused event is set back");
  else  // or comes again, until its dead letter is out
    require(what.set_back.size() <= refused + behind, "only refused events are set back");
  const std::set<std::int64_t> released(what.released.begin(), what.released.end());
  require(released.size() == what.released.size(), "a seq is released once");
  std::set<std::int64_t> with_followers;
  for (const event& one : batch_.events)
    if (one.has_followers && finished.contains(one.seq)) with_followers.insert(one.seq);
  require(released == with_followers,
          "those that wait behind a finished event are released, and are looked for only where some wait");
}

}  // namespace outboxd::test
