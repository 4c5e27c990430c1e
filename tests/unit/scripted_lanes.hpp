// scripted_lanes: a broker and a clock that a test drives by hand, for the flow's lanes and what stands on
// them.
#pragma once

#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "flow/dispatch/lanes.hpp"

namespace outboxd::test {

inline const refusal no_exchange{.reason = "404 NOT_FOUND", .part = refused_part::exchange};

class scripted_connection final : public flow::broker {
 public:
  struct publish_made {
    token name;
    std::string id;    // of the message
    std::string body;  // with the exchange before it, for a dead letter
    std::string type;
    std::string traceparent;  // in place of the row's
  };

  result<accepted> publish(token name, const message& what) override {
    if (full) return accepted::full;
    if (what.type == "unencodable" && what.routing_key != "dead")
      return permanent("the routing key is too long");
    sent.push_back({name, what.message_id, what.dead_reason.empty() ? "" : std::string(what.exchange),
                    std::string(what.type), traceparent_of(what)});
    return accepted::yes;
  }
  void drop(std::string_view why) override { dropped.emplace_back(why); }
  int urls() const override { return hosts; }

  bool full = false;
  int hosts = 1;
  std::vector<publish_made> sent;
  std::vector<std::string> dropped;

 private:
  static std::string traceparent_of(const message& what) {
    for (const auto& one : what.format_headers)
      if (one.name == "traceparent") return std::get<std::string>(one.value);
    return {};
  }
};

// So many lanes, all up.
struct scripted_lanes {
  explicit scripted_lanes(std::size_t count, const flow::lane_limits& limits = {},
                          flow::rate_limit rate = flow::rate_limit())
      : pool([this] { return now; }, {}, flow::destinations({}), rate) {
    for (std::size_t i = 0; i < count; ++i)
      pool.add(wires.emplace_back(connections.emplace_back(), pool, limits));
    for (auto& one : wires) one.on_broker_up();
  }

  void answer(std::size_t lane, token name, verdict what, std::string reason = {}) {
    const outcome one{name, what, std::move(reason)};
    wires[lane].on_outcomes({&one, 1});
  }
  void ack(std::size_t lane, token name) { answer(lane, name, verdict::acked); }

  flow::clock::time_point now{std::chrono::hours(1)};
  flow::lanes pool;
  std::deque<scripted_connection> connections;
  std::deque<flow::lane> wires;
};

}  // namespace outboxd::test
