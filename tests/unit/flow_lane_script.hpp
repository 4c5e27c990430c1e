// flow_lane_script: a lane that a test drives by hand, and a lane_client that notes down what it is told.
#pragma once

#include <fmt/format.h>

#include <array>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "flow/dispatch/lane.hpp"
#include "scripted_lanes.hpp"

namespace outboxd::test {

// Notes down what it is told.
class notes final : public flow::lane_client {
 public:
  result<message> message_of(flow::slot which) override {
    message out{};
    out.message_id = std::to_string(which);
    out.type = which == 99 ? "unencodable" : "t";
    return out;
  }
  // So many destinations.
  flow::destination target_of(flow::slot which) const override {
    static constexpr std::array keys{"a", "b", "c", "d"};
    return {.exchange = "outbox", .routing_key = keys[static_cast<std::size_t>(which) % keys.size()]};
  }
  void on_sent(flow::slot which) override { say("sent", which); }
  void on_outcome(flow::slot which, const outcome& what, flow::clock::time_point) override {
    say(what.what == verdict::acked ? "acked" : what.what == verdict::nacked ? "nacked" : "returned", which);
  }
  void on_unencodable(flow::slot which, std::string) override { say("unencodable", which); }
  void on_interrupted(flow::slot which, const interruption& why, bool alone,
                      flow::clock::time_point) override {
    say(alone ? "interrupted alone" : "interrupted", which);
    why_ = why;
  }
  void on_overdue(flow::slot which) override { say("overdue", which); }
  void on_unsent(flow::slot which) override { say("unsent", which); }
  void on_lanes_changed() override { said_ += "changed "; }
  void on_progress() override {}

  std::string take() { return std::exchange(said_, {}); }
  const interruption& why() const { return why_; }

 private:
  void say(const char* what, flow::slot which) { said_ += fmt::format("{} {} ", what, which); }
  std::string said_;
  interruption why_;
};

// One lane.
struct lane_script : scripted_lanes {
  lane_script() : scripted_lanes(1, {.confirm_timeout = std::chrono::seconds(10)}) { pool.join(whose); }
  void offer(flow::slot which, bool alone = false) { line.offer({&whose, which, alone}); }
  void send(std::initializer_list<flow::slot> all) {
    for (const flow::slot one : all) offer(one);
    line.pump();
  }
  std::vector<token> names(std::size_t from = 0) const {
    std::vector<token> out;
    for (; from < connections[0].sent.size(); ++from) out.push_back(connections[0].sent[from].name);
    return out;
  }

  flow::lane& line = wires[0];
  notes whose;
};

}  // namespace outboxd::test
