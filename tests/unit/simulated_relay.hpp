// simulated_relay: one process: a dispatcher, its lanes and their sessions, a sweep, and the timers.
#pragma once

#include <deque>

#include "relay/dispatcher.hpp"
#include "simulated_broker.hpp"
#include "simulated_outbox.hpp"

namespace outboxd::test {

class simulated_relay {
 public:
  simulated_relay(simulated_world& world, simulated_table& table, simulated_exchange& exchange, int lanes,
                  const relay::lane_settings& settings)
      : world_(world), table_(table), process_(world) {
    for (int i = 0; i < lanes; ++i) {
      worker& one = workers_.emplace_back(*this, exchange, settings);
      dispatcher_.add(one.line);
      one.outbox.connect(one.line);
      one.broker.connect(one.line);
    }
    every(milliseconds(1000), [this] {
      if (table_.sweep(world_.now())) dispatcher_.ring();
    });
    // A doorbell that looks unasked now and then, and a last time before it stops to.
    every(milliseconds(23), [this] {
      looks_come_ = !looks_come_;
      if (!looks_come_) dispatcher_.ring();
    });
    every(milliseconds(5), [this] {
      if (looks_come_) dispatcher_.ring();
    });
    every(milliseconds(2), [this] { dispatcher_.look_if_owed(); });
    every(milliseconds(100), [this] { dispatcher_.check_deadlines(); });
  }

  void ring() {
    process_.run([this] { dispatcher_.ring(); });
  }
  void stop(milliseconds grace) {
    stopping_ = true;
    process_.run([this] { dispatcher_.stop(); });
    world_.after(grace, [this] { process_.run([this] { dispatcher_.abandon(); }); });
  }
  void kill() {
    if (std::exchange(killed_, true)) return;
    process_.kill();
    for (worker& one : workers_) {
      one.outbox.end();
      one.broker.end();
    }
  }
  void hang(milliseconds pause) { process_.stop_for(pause); }

  bool running() const { return !stopping_ && !killed_; }
  bool killed() const { return killed_; }
  bool idle() const { return dispatcher_.all_idle(); }
  std::size_t lanes() const { return workers_.size(); }
  simulated_outbox& outbox(std::size_t lane) { return workers_[lane].outbox; }
  simulated_broker& broker(std::size_t lane) { return workers_[lane].broker; }

 private:
  struct worker {
    worker(simulated_relay& of, simulated_exchange& exchange, const relay::lane_settings& settings)
        : outbox(of.world_, of.process_, of.table_, settings.claim_timeout),
          broker(of.world_, of.process_, exchange),
          line(outbox, broker, of.dispatcher_, settings) {}
    simulated_outbox outbox;
    simulated_broker broker;
    relay::lane line;
  };

  void every(milliseconds interval, const std::function<void()>& what) {
    world_.after(interval, [this, interval, what] {
      if (killed_) return;
      process_.run([this, interval, what] {
        what();
        every(interval, what);
      });
    });
  }

  simulated_world& world_;
  simulated_table& table_;
  simulated_process process_;
  relay::dispatcher dispatcher_{{.now = [this] { return world_.now(); },
                                 .on_waiting = [] {},
                                 .on_idle = [] {},
                                 .on_published = [](std::size_t, relay::clock::duration) {},
                                 .on_set_back = [](const event&, const relay::setback&) {},
                                 .looks_come = [this] { return looks_come_; }}};
  std::deque<worker> workers_;
  bool looks_come_ = false;
  bool stopping_ = false;
  bool killed_ = false;
};

}  // namespace outboxd::test
