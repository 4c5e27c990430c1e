// scripted_lane: a lane between an outbox and a broker that do what a script says and write down what they are asked.
//
// Events are written as in flow_notation.hpp. Steps: outbox up|down · broker up|down · blocked · unblocked · room <n> · writable · claimed <events> [+waits]
// [+more] [+full] · released · acked|nacked|returned <events> … · late <events> (acked, of an earlier claim) ·
// channel closed (over one of all that are unconfirmed) · wake · stop ·
// abandon · check.
#pragma once

#include <fmt/format.h>

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "flow_notation.hpp"
#include "flow_rules.hpp"
#include "relay/lane.hpp"

namespace outboxd::test {

class scripted_lane final : private relay::outbox, private relay::broker, private relay::lane_host {
 public:
  scripted_lane(relay::lane_host& host, const relay::lane_settings& settings)
      : host_(host), rules(settings), line(*this, *this, *this, settings) {}

  // False: it cannot happen now, and did not.
  bool apply(const std::string& step) {
    const auto words = words_of(step);
    const std::vector<std::string> rest(words.begin() + 1, words.end());
    if (words[0] == "outbox") return outbox_is(rest[0] == "up");
    if (words[0] == "broker") return broker_is(rest[0] == "up");
    if (words[0] == "claimed") return claimed(rest);
    if (words[0] == "released") return released();
    if (words[0] == "blocked" || words[0] == "unblocked") return blocked_is(words[0] == "blocked");
    if (words[0] == "room") return has_room(std::stoul(rest[0]));
    if (words[0] == "writable") return writable();
    if (words[0] == "channel") return channel_closed();
    if (words[0] == "stop" || words[0] == "abandon") return stop(words[0] == "abandon");
    if (words[0] == "wake") return line.wake(), true;
    if (words[0] == "check") return line.check(), true;
    return outcomes(words);
  }

  // What the lane has asked for since the last look.
  std::string calls() { return join(std::exchange(calls_, {}), "; "); }
  void note(std::string call) { calls_.push_back(std::move(call)); }

  // Gives the lane everything that it waits for, one thing; false: it waits for nothing.
  bool heal() {
    room_ = std::numeric_limits<std::size_t>::max();
    if (dropped_) return broker_is(false);
    if (!outbox_up_) return outbox_is(true);
    if (!broker_up_) return broker_is(true);
    if (blocked_) return blocked_is(false);
    if (said_full_) return writable();
    if (rules.release_is_asked()) return released();
    if (rules.claim_is_asked()) return claimed({});
    if (unconfirmed_.empty()) return false;
    std::vector<std::string> acks{"acked"};
    for (const publish_record& one : unconfirmed_) acks.push_back(one.name);
    return outcomes(acks);
  }

 private:
  struct publish_record {
    token id;
    std::string name;
  };

  void claim(relay::reach how_far) override {
    rules.claim();
    rings_at_claim_ = host_.rings();
    note(how_far == relay::reach::share ? "claim" : "claim all");
  }

  void settle(const relay::settlement& what, relay::then next) override {
    rules.settle(what, next, {.looks_come = looks_come_, .rung = host_.rings() != rings_at_claim_});
    if (next == relay::then::claim) rings_at_claim_ = host_.rings();
    note(fmt::format("settle {} then {}", to_words(what, last_),
                     next == relay::then::claim ? "claim" : "release"));
  }

  result<accepted> publish(token name, const message& what) override {
    const auto word = fmt::format("{}{}{}", what.aggregate_id, what.seq, what.dead_reason.empty() ? "" : "†");
    if (what.type == "unencodable" && what.headers != "{}") {
      rules.unencodable(what);
      note("refuse " + word);
      return permanent("the routing key is too long");
    }
    if (room_ == 0) {
      said_full_ = true;
      note("full");
      return accepted::full;
    }
    --room_;
    what.dead_reason.empty() ? rules.publish(name, what, host_.now()) : rules.publish_letter(name, what);
    unconfirmed_.push_back({name, word});
    note("publish " + word);
    return accepted::yes;
  }

  void drop(std::string_view) override {
    rules.drop();
    dropped_ = true;
    note("drop");
  }

  clock::time_point now() const override { return host_.now(); }
  void on_claim_sent(relay::lane& from) override {
    owed_ = false;
    rules.told_claim();
    host_.on_claim_sent(from);
  }
  void on_claim_answered(relay::lane& from, std::size_t events) override {
    host_.on_claim_answered(from, events);
  }
  bool looks_come() const override { return looks_come_ = host_.looks_come(); }
  std::uint64_t rings() const override { return host_.rings(); }
  void on_look_owed(relay::lane& from) override {
    rules.require(from.idle(), "a look is owed when the shards are free again");
    owed_ = true;
    note("owes a look");
    host_.on_look_owed(from);
  }
  void on_more_work(relay::lane& from) override {
    note("more work");
    host_.on_more_work(from);
  }
  void on_idle(relay::lane& from) override {
    rules.require(from.idle(), "on_idle means idle");
    note("idle");
    host_.on_idle(from);
  }
  void on_waiting(relay::lane& from) override {
    rules.require(from.deadline().has_value(), "a lane that waits has a deadline");
    host_.on_waiting(from);
  }
  void on_published(relay::lane& from, std::size_t events, relay::clock::duration took) override {
    rules.told_published(events);
    host_.on_published(from, events, took);
  }
  void on_set_back(relay::lane& from, const event& which, const relay::setback& how) override {
    rules.require(which.id == how.id, "the host hears which event was set back");
    rules.told_set_back();
    host_.on_set_back(from, which, how);
  }

  bool outbox_is(bool up) {
    if (outbox_up_ == up) return false;
    outbox_up_ = up;
    rules.on_outbox(up);
    up ? line.on_outbox_up() : line.on_outbox_down();
    return true;
  }
  bool broker_is(bool up) {
    if (broker_up_ == up) return false;
    broker_up_ = up;
    dropped_ = blocked_ = said_full_ = false;
    unconfirmed_.clear();
    rules.on_broker(up);
    up ? line.on_broker_up() : line.on_broker_down();
    return true;
  }
  bool claimed(const std::vector<std::string>& words) {
    if (!rules.claim_is_asked()) return false;
    last_ = batch_of(words);
    rules.on_claimed(last_, host_.now());
    line.on_claimed(last_);
    return true;
  }
  bool released() {
    if (!rules.release_is_asked()) return false;
    rules.on_released();
    line.on_released();
    rules.require(!rules.ready() || host_.looks_come() || rules.claim_is_asked() || owed_,
                  "who leaves shards and does not look owes a look");
    return true;
  }
  bool blocked_is(bool blocked) {
    if (!broker_up_ || blocked_ == blocked) return false;
    blocked_ = blocked;
    rules.on_blocked(blocked);
    line.on_blocked(blocked);
    return true;
  }
  bool has_room(std::size_t publishes) {
    room_ = publishes;
    return true;
  }
  bool writable() {
    if (!std::exchange(said_full_, false)) return false;
    if (room_ == 0) room_ = std::numeric_limits<std::size_t>::max();
    line.on_writable();
    return true;
  }
  bool channel_closed() {
    if (unconfirmed_.empty()) return false;
    std::vector<token> unknown;
    for (const publish_record& one : std::exchange(unconfirmed_, {})) unknown.push_back(one.id);
    rules.on_channel_closed(unknown);
    line.on_channel_closed(unknown, "404 NOT_FOUND - no exchange 'gone' in vhost '/'");
    return true;
  }
  bool stop(bool abandon) {
    rules.on_stop();
    abandon ? line.abandon() : line.stop();
    return true;
  }
  bool outcomes(const std::vector<std::string>& words) {
    verdict what = verdict::acked;
    bool late = false;
    std::vector<outcome> all;
    for (const std::string& word : words) {
      if (word == "acked" || word == "nacked" || word == "returned" || word == "late") {
        what = word == "nacked" ? verdict::nacked : word == "returned" ? verdict::returned : verdict::acked;
        late = word == "late";
      } else if (const auto id = take(word, late)) {
        all.push_back({*id, what, what == verdict::returned ? "312 NO_ROUTE" : ""});
      }
    }
    if (all.empty()) return false;
    for (const outcome& one : all) rules.on_outcome(one);
    line.on_outcomes(all);
    return true;
  }
  // The latest unconfirmed publish of that event, or the earliest.
  std::optional<token> take(const std::string& name, bool late) {
    auto found = unconfirmed_.end();
    for (auto at = unconfirmed_.begin(); at != unconfirmed_.end(); ++at)
      if (at->name == name && (found == unconfirmed_.end() || !late)) found = at;
    if (found == unconfirmed_.end()) return std::nullopt;
    const token id = found->id;
    unconfirmed_.erase(found);
    return id;
  }

  relay::lane_host& host_;
  bool outbox_up_ = false;
  bool broker_up_ = false;
  bool dropped_ = false;
  bool blocked_ = false;
  bool said_full_ = false;
  mutable bool looks_come_ = false;  // what the lane was told last
  std::uint64_t rings_at_claim_ = 0;
  bool owed_ = false;  // a look, since the last claim
  std::size_t room_ = std::numeric_limits<std::size_t>::max();
  std::vector<publish_record> unconfirmed_;
  batch last_;
  std::vector<std::string> calls_;

 public:
  flow_rules rules;
  relay::lane line;
};

}  // namespace outboxd::test
