// flow_script: runs a script of one lane as it is written, then again with every fault before every step.
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "scripted_lane.hpp"

namespace outboxd::test {

struct step {
  std::string happens;   // see scripted_lane.hpp; and: after <milliseconds>, silence (nobody rings any more)
  std::string expected;  // what the lane then does, in order: "settle a1 ok then release"
};

using script = std::vector<step>;

class flow_script final : private relay::lane_host {
 public:
  explicit flow_script(const relay::lane_settings& settings = {}) : subject_(*this, settings) {}

  // False: it cannot happen now, and did not.
  bool apply(const std::string& happens) {
    const auto words = words_of(happens);
    if (words[0] == "stop" || words[0] == "abandon") stopped_ = true;
    if (words[0] == "silence") return silent_ = true;
    if (!silent_) ++rings_;  // somebody rings all the time
    if (words[0] != "after") return subject_.apply(happens);
    now_ += std::chrono::milliseconds(std::stoll(words[1]));
    return true;
  }
  std::string calls() { return subject_.calls(); }
  relay::lane& line() { return subject_.line; }
  clock::time_point now() const override { return now_; }
  const std::vector<std::string>& broken_rules() const { return subject_.rules.broken(); }

  // With both servers well again the lane comes to rest, and works again unless it was stopped.
  void finish() {
    heal();
    subject_.rules.require(line().idle() && !subject_.rules.claim_is_open(), "the lane comes to rest");
    subject_.rules.require(line().wake() == !stopped_, "the lane wakes unless it was stopped");
    heal();
    subject_.rules.require(line().idle(), "the lane comes to rest again");
  }

 private:
  void heal() {
    for (int i = 0; i < 100 && subject_.heal(); ++i) continue;
  }
  std::uint64_t rings() const override { return rings_; }
  void on_look_owed(relay::lane&) override {}
  void on_claim_sent(relay::lane&) override {}
  void on_more_work(relay::lane&) override {}
  void on_idle(relay::lane&) override {}
  void on_waiting(relay::lane&) override {}
  void on_published(relay::lane&, std::size_t, relay::clock::duration) override {}
  void on_set_back(relay::lane&, const event&, const relay::setback&) override {}

  clock::time_point now_{std::chrono::hours(1)};
  bool stopped_ = false;
  bool silent_ = false;
  std::uint64_t rings_ = 0;
  scripted_lane subject_;
};

// Each is a sequence of steps that may strike at any moment. A jump of the clock is a process that was stopped.
inline const std::vector<std::vector<std::string>>& faults() {
  static const std::vector<std::vector<std::string>> all{
      {"outbox down"},
      {"outbox down", "outbox up"},
      {"broker down"},
      {"broker down", "broker up"},
      {"broker down", "outbox down", "outbox up"},
      {"blocked"},
      {"blocked", "unblocked"},
      {"stop"},
      {"abandon"},
      {"stop", "abandon"},
      {"after 3600000"},
      {"after 3600000", "check"},
      {"after 3600000", "outbox down", "outbox up"},
      {"channel closed"},
      {"channel closed", "room 0", "broker down", "broker up"},
      {"room 0"},
      {"room 1", "writable"},
      {"wake", "check"},
  };
  return all;
}

inline void run_with_fault(const script& steps, const relay::lane_settings& settings, std::size_t before,
                           const std::vector<std::string>& fault) {
  CAPTURE(before);
  INFO("fault: ", join(fault, ", "));
  flow_script flow(settings);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (i == before)
      for (const std::string& one : fault) flow.apply(one);
    flow.apply(steps[i].happens);
  }
  flow.finish();
  CHECK(join(flow.broken_rules(), "; ") == "");
}

inline void run_script(const script& steps, const relay::lane_settings& settings = {}) {
  flow_script flow(settings);
  for (const step& one : steps) {
    CAPTURE(one.happens);
    CHECK(flow.apply(one.happens));
    CHECK(flow.calls() == one.expected);
  }
  flow.finish();
  CHECK(join(flow.broken_rules(), "; ") == "");
  for (std::size_t before = 0; before < steps.size(); ++before)
    for (const auto& fault : faults()) run_with_fault(steps, settings, before, fault);
}

}  // namespace outboxd::test
